#include "backends/profiles/cost_profile.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/parse.h"
#include "base/text_file.h"
#include "cost_profile_files.h"

namespace remaplab {
namespace {

constexpr int64_t kFormatVersion = 1;
constexpr std::array<std::string_view, kCostTermCount> kTermNames = {
    "fixed",           "per_device",          "per_chunk",   "per_chunk_and_device", "per_chunk_squared",
    "per_mib",         "unchanged_per_chunk", "per_command", "per_changed_slot",     "gpu_fixed",
    "contended_factor"};
constexpr std::array<std::string_view, 4> kSourceNames = {"absent", "measured", "fitted", "borrowed"};
constexpr std::array<std::string_view, 3> kQualities = {"measured", "fitted", "uncalibrated"};
// A term may not say more than this (1,000 s; a factor of a thousand million), so that sums stay far from overflow.
constexpr double kLargestTerm = 1e15;

CallKind KindAt(size_t i) { return static_cast<CallKind>(i); }
CostTerm TermAt(size_t i) { return static_cast<CostTerm>(i); }

std::optional<CostTerm> ParseTerm(CallKind kind, std::string_view name) {
  if (kind == CallKind::kCopy && name == "fixed") {
    return CostTerm::kFixed;
  }
  for (size_t i = 0; i < kCostTermCount; ++i) {
    if (HasTerm(kind, TermAt(i)) && TermName(kind, TermAt(i)) == name) {
      return TermAt(i);
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> TermNamesOf(CallKind kind) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kCostTermCount; ++i) {
    if (HasTerm(kind, TermAt(i))) {
      names.push_back(TermName(kind, TermAt(i)));
    }
  }
  return names;
}

// Terms are written in nanoseconds and factors as they are; both are kept in thousandths.
Result<int64_t> ToThousandths(double value, std::string_view what) {
  if (!(value >= 0) || value * 1000 > kLargestTerm) {
    return Fail(ErrorCode::kInput, fmt::format("{}: {} is out of range (0 to {:g})", what, value, kLargestTerm / 1000));
  }
  return static_cast<int64_t>(std::llround(value * 1000));
}

using simdjson::dom::element;
using simdjson::dom::object;

// Reads one profile; every message begins with what_ and the key.
class Reader {
 public:
  explicit Reader(std::string_view what) : what_(what) {}

  Result<CostProfile> Read(const object& root) {
    int64_t version = 0;
    if (root["remaplab_cost_profile"].get(version) != simdjson::SUCCESS) {
      return Wrong("remaplab_cost_profile", "want the format's version, a whole number");
    }
    if (version > kFormatVersion) {
      return Wrong("remaplab_cost_profile", fmt::format("version {} is newer than {}", version, kFormatVersion));
    }
    CostProfile profile;
    REMAPLAB_TRY(Text(root, "name", true, profile.name));
    REMAPLAB_TRY(Text(root, "description", false, profile.description));
    REMAPLAB_TRY(Text(root, "quality", true, profile.quality));
    REMAPLAB_TRY(Text(root, "device", false, profile.device));
    REMAPLAB_TRY(Text(root, "driver", false, profile.driver));
    REMAPLAB_TRY(Text(root, "origin", false, profile.origin));
    REMAPLAB_TRY(Text(root, "date", false, profile.date));
    REMAPLAB_TRY(Text(root, "note", false, profile.note));
    if (std::find(kQualities.begin(), kQualities.end(), profile.quality) == kQualities.end()) {
      return Wrong("quality", fmt::format("'{}' is none of {}", profile.quality, fmt::join(kQualities, ", ")));
    }
    uint64_t devices = 1;
    if (const auto value = root["devices"]; value.error() != simdjson::NO_SUCH_FIELD) {
      if (value.get(devices) != simdjson::SUCCESS || devices == 0 || devices > 64) {
        return Wrong("devices", "want a whole number from 1 to 64");
      }
    }
    profile.devices = static_cast<uint32_t>(devices);
    object terms;
    if (root["terms"].get(terms) != simdjson::SUCCESS) {
      return Wrong("terms", "want an object with call kinds as keys");
    }
    for (const auto& [key, value] : terms) {
      REMAPLAB_TRY(Kind(key, value, profile));
    }
    REMAPLAB_TRY(Residuals(root, profile));
    return profile;
  }

 private:
  tl::unexpected<Error> Wrong(std::string_view key, std::string_view message) const {
    return Fail(ErrorCode::kInput, fmt::format("{}: {}: {}", what_, key, message));
  }

  Status Text(const object& from, std::string_view key, bool required, std::string& out) const {
    const auto value = from[key];
    if (value.error() == simdjson::NO_SUCH_FIELD && !required) {
      return {};
    }
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS || (required && text.empty())) {
      return Wrong(key, required ? "want a text that is not empty" : "want a text");
    }
    out = text;
    return {};
  }

  Status Kind(std::string_view name, const element& value, CostProfile& profile) const {
    const std::optional<CallKind> kind = ParseCallKind(name);
    if (!kind) {
      return Wrong(name, fmt::format("unknown call kind; known are {}", fmt::join(kCallKindNames, ", ")));
    }
    object terms;
    if (value.get(terms) != simdjson::SUCCESS) {
      return Wrong(name, "want an object with terms as keys");
    }
    for (const auto& [key, term_value] : terms) {
      const std::optional<CostTerm> term = ParseTerm(*kind, key);
      if (!term) {
        return Wrong(fmt::format("{}.{}", name, key),
                     fmt::format("no such term; {} has {}", name, fmt::join(TermNamesOf(*kind), ", ")));
      }
      REMAPLAB_TRY(Term(fmt::format("{}.{}", name, key), *term, term_value, profile.At(*kind, *term)));
    }
    return {};
  }

  Status Term(const std::string& name, CostTerm term, const element& value, CostTermValue& out) const {
    object fields;
    if (value.get(fields) != simdjson::SUCCESS) {
      return Wrong(name, "want an object");
    }
    const std::string_view unit = term == CostTerm::kContendedFactor ? "factor" : "ns";
    double number = 0;
    if (fields[unit].get(number) != simdjson::SUCCESS) {
      return Wrong(name, fmt::format("want a number '{}'", unit));
    }
    REMAPLAB_ASSIGN(out.value, ToThousandths(number, fmt::format("{}: {}", what_, name)));
    std::string source;
    REMAPLAB_TRY(Text(fields, "source", true, source));
    const auto found = std::find(kSourceNames.begin(), kSourceNames.end(), source);
    if (found == kSourceNames.end()) {
      return Wrong(name, fmt::format("source '{}' is none of {}", source, fmt::join(kSourceNames, ", ")));
    }
    out.source = static_cast<TermSource>(found - kSourceNames.begin());
    REMAPLAB_TRY(Text(fields, "from", out.source == TermSource::kBorrowed, out.from));
    REMAPLAB_TRY(Text(fields, "note", false, out.note));
    return {};
  }

  Status Residuals(const object& root, CostProfile& profile) const {
    const auto value = root["residuals"];
    if (value.error() == simdjson::NO_SUCH_FIELD) {
      return {};
    }
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) {
      return Wrong("residuals", "want an array");
    }
    for (const element& entry : list) {
      object fields;
      CostResidual residual;
      std::string kind;
      if (entry.get(fields) != simdjson::SUCCESS) {
        return Wrong("residuals", "want objects");
      }
      REMAPLAB_TRY(Text(fields, "what", true, residual.what));
      REMAPLAB_TRY(Text(fields, "kind", true, kind));
      const std::optional<CallKind> parsed = ParseCallKind(kind);
      if (!parsed) {
        return Wrong("residuals", fmt::format("unknown call kind '{}'", kind));
      }
      residual.kind = *parsed;
      if (fields["measured_ns"].get(residual.measured_ns) != simdjson::SUCCESS ||
          fields["predicted_ns"].get(residual.predicted_ns) != simdjson::SUCCESS) {
        return Wrong("residuals", "want numbers 'measured_ns' and 'predicted_ns'");
      }
      profile.residuals.push_back(std::move(residual));
    }
    return {};
  }

  std::string_view what_;
};

// Sums are made in 128 bits, which no quantities can fill.
__extension__ using Wide = __int128;

int64_t Saturated(Wide value) {
  constexpr int64_t kLimit = int64_t{1} << 60;
  return value > kLimit ? kLimit : static_cast<int64_t>(value);
}

}  // namespace

std::string_view TermName(CallKind kind, CostTerm term) {
  return kind == CallKind::kCopy && term == CostTerm::kFixed ? "enqueue" : kTermNames[static_cast<size_t>(term)];
}

bool HasTerm(CallKind kind, CostTerm term) {
  const bool builds = kind == CallKind::kCapture || kind == CallKind::kUpdate;
  switch (term) {
    case CostTerm::kUnchangedPerChunk:
      return kind == CallKind::kSetAccess;
    case CostTerm::kPerCommand:
    case CostTerm::kPerChangedSlot:
      return builds;
    case CostTerm::kGpuFixed:
      return kind == CallKind::kCopy;
    default:
      return true;
  }
}

std::string_view Name(TermSource source) { return kSourceNames[static_cast<size_t>(source)]; }

CostProfile::CostProfile() {
  for (auto& kind : terms) {
    kind[static_cast<size_t>(CostTerm::kContendedFactor)].value = kFactorOne;
  }
}

Result<CostProfile> ParseCostProfile(std::string_view json, std::string_view what) {
  simdjson::dom::parser parser;
  element document;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(document); error != simdjson::SUCCESS) {
    return Fail(ErrorCode::kInput, fmt::format("{}: no valid JSON: {}", what, simdjson::error_message(error)));
  }
  object root;
  if (document.get(root) != simdjson::SUCCESS) {
    return Fail(ErrorCode::kInput, fmt::format("{}: want a JSON object", what));
  }
  return Reader(what).Read(root);
}

std::span<const CostProfile> BuiltinCostProfiles() {
  static const std::vector<CostProfile> profiles = [] {
    std::vector<CostProfile> parsed;
    for (const EmbeddedFile& file : cost_profile_files()) {
      // The suite parses every embedded file; one that does not parse never ships.
      if (Result<CostProfile> profile = ParseCostProfile(file.text, file.name)) {
        parsed.push_back(std::move(*profile));
      }
    }
    std::sort(parsed.begin(), parsed.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return parsed;
  }();
  return profiles;
}

namespace {

Result<CostProfile> FindCostProfile(std::string_view name_or_path) {
  std::vector<std::string_view> names;
  for (const CostProfile& profile : BuiltinCostProfiles()) {
    if (profile.name == name_or_path) {
      return profile;
    }
    names.push_back(profile.name);
  }
  const std::string path(name_or_path);
  if (path.find('/') == std::string::npos && !path.ends_with(".json")) {
    return Fail(ErrorCode::kUsage, fmt::format("cost profile '{}': neither a built-in one ({}) nor the path of a file "
                                               "(with a '/' or ending in .json)",
                                               path, fmt::join(names, ", ")));
  }
  REMAPLAB_ASSIGN(const std::string text, ReadTextFile(path));
  return ParseCostProfile(text, path);
}

}  // namespace

Result<CostProfile> LoadCostProfile(std::string_view name_or_path, std::span<const std::string> what_if) {
  REMAPLAB_ASSIGN(CostProfile profile, FindCostProfile(name_or_path));
  for (const std::string& assignment : what_if) {
    REMAPLAB_TRY(ApplyWhatIf(profile, assignment));
  }
  return profile;
}

std::string CostProfileToJson(const CostProfile& profile) {
  JsonWriter json;
  json.BeginObject().Key("remaplab_cost_profile").Int(kFormatVersion);
  const auto text = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) {
      json.Key(key).String(value);
    }
  };
  text("name", profile.name);
  text("description", profile.description);
  text("quality", profile.quality);
  text("device", profile.device);
  text("driver", profile.driver);
  json.Key("devices").UInt(profile.devices);
  text("origin", profile.origin);
  text("date", profile.date);
  text("note", profile.note);
  json.Key("terms").BeginObject();
  for (size_t k = 0; k < kCallKindCount; ++k) {
    bool open = false;
    for (size_t t = 0; t < kCostTermCount; ++t) {
      const CostTermValue& term = profile.terms[k][t];
      const int64_t neutral = TermAt(t) == CostTerm::kContendedFactor ? kFactorOne : 0;
      if (term.source == TermSource::kAbsent && term.note.empty() && term.value == neutral) {
        continue;
      }
      if (!std::exchange(open, true)) {
        json.Key(kCallKindNames[k]).BeginObject();
      }
      json.Key(TermName(KindAt(k), TermAt(t))).BeginObject();
      json.Key(TermAt(t) == CostTerm::kContendedFactor ? "factor" : "ns")
          .Double(static_cast<double>(term.value) / 1000);
      json.Key("source").String(Name(term.source));
      text("from", term.from);
      text("note", term.note);
      json.EndObject();
    }
    if (open) {
      json.EndObject();
    }
  }
  json.EndObject();
  json.Key("residuals").BeginArray();
  for (const CostResidual& residual : profile.residuals) {
    json.BeginObject().Key("what").String(residual.what).Key("kind").String(Name(residual.kind));
    json.Key("measured_ns").Double(residual.measured_ns).Key("predicted_ns").Double(residual.predicted_ns).EndObject();
  }
  json.EndArray().EndObject();
  return json.TakeText() + "\n";
}

Status ApplyWhatIf(CostProfile& profile, std::string_view assignment) {
  const std::string what = fmt::format("what-if '{}'", assignment);
  const size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const size_t dot = name.find('.');
  const std::optional<CallKind> kind = ParseCallKind(name.substr(0, dot));
  if (equals == std::string_view::npos || dot == std::string_view::npos || !kind) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: want KIND.TERM=VALUE such as unmap.fixed=10us, where KIND is one of {}", what,
                            fmt::join(kCallKindNames, ", ")));
  }
  const std::optional<CostTerm> term = ParseTerm(*kind, name.substr(dot + 1));
  if (!term) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: {} has the terms {}", what, Name(*kind), fmt::join(TermNamesOf(*kind), ", ")));
  }
  const std::string_view text = assignment.substr(equals + 1);
  double value = 0;
  if (*term == CostTerm::kContendedFactor) {
    REMAPLAB_ASSIGN(value, ParseDouble(text, what));
  } else {
    REMAPLAB_ASSIGN(value, ParseNanoseconds(text, what));
  }
  Result<int64_t> thousandths = ToThousandths(value, what);
  if (!thousandths) {
    return Fail(ErrorCode::kUsage, thousandths.error().message());
  }
  profile.At(*kind, *term).value = *thousandths;
  profile.what_if.emplace_back(assignment);
  return {};
}

std::vector<NamedTerm> NonZeroTerms(const CostProfile& profile) {
  std::vector<NamedTerm> terms;
  for (size_t k = 0; k < kCallKindCount; ++k) {
    for (size_t t = 0; t < kCostTermCount; ++t) {
      const CostTermValue& value = profile.terms[k][t];
      if (value.value != (TermAt(t) == CostTerm::kContendedFactor ? kFactorOne : 0)) {
        terms.push_back(
            {fmt::format("{}.{}", kCallKindNames[k], TermName(KindAt(k), TermAt(t))), KindAt(k), TermAt(t), value});
      }
    }
  }
  return terms;
}

std::vector<std::string> UnmeasuredTerms(const CostProfile& profile, std::span<const bool, kCallKindCount> used,
                                         uint32_t devices) {
  std::vector<std::string> terms;
  for (size_t k = 0; k < kCallKindCount; ++k) {
    if (!used[k]) {
      continue;
    }
    const CallKind kind = KindAt(k);
    for (size_t t = 0; t < kCostTermCount; ++t) {
      const CostTerm term = TermAt(t);
      const CostTermValue& value = profile.At(kind, term);
      if (value.source == TermSource::kBorrowed) {
        terms.push_back(fmt::format("{}.{} (borrowed from {})", Name(kind), TermName(kind, term), value.from));
      } else if (value.source == TermSource::kAbsent && !value.note.empty()) {
        terms.push_back(fmt::format("{}.{} (absent: {})", Name(kind), TermName(kind, term), value.note));
      } else if (value.source == TermSource::kAbsent && term == CostTerm::kFixed &&
                 std::all_of(profile.terms[k].begin(), profile.terms[k].end(),
                             [](const CostTermValue& other) { return other.source == TermSource::kAbsent; })) {
        terms.push_back(fmt::format("{}.{} (absent)", Name(kind), TermName(kind, term)));
      } else if (value.source == TermSource::kAbsent && term == CostTerm::kPerChunkAndDevice &&
                 kind == CallKind::kUnmap && devices > profile.devices) {
        terms.push_back(fmt::format("{}.{} (absent: measured on {} device{}, used for {})", Name(kind),
                                    TermName(kind, term), profile.devices, profile.devices == 1 ? "" : "s", devices));
      }
    }
  }
  return terms;
}

CostTable::CostTable(const CostProfile& profile) {
  for (size_t k = 0; k < kCallKindCount; ++k) {
    for (size_t t = 0; t < kCostTermCount; ++t) {
      terms_[k][t] = profile.terms[k][t].value;
    }
  }
}

int64_t CostTable::CallNs(CallKind kind, const CallQuantities& quantities) const {
  const auto& terms = terms_[static_cast<size_t>(kind)];
  const auto times = [&](CostTerm term, uint64_t quantity) {
    return static_cast<Wide>(terms[static_cast<size_t>(term)]) * quantity;
  };
  const uint64_t chunks = std::min<uint64_t>(quantities.chunks, uint64_t{1} << 31);
  Wide total = times(CostTerm::kFixed, 1) + times(CostTerm::kPerDevice, quantities.devices) +
               times(CostTerm::kPerChunk, chunks) + times(CostTerm::kPerChunkAndDevice, quantities.chunk_devices) +
               times(CostTerm::kPerChunkSquared, chunks * chunks) +
               times(CostTerm::kUnchangedPerChunk, quantities.unchanged_chunks) +
               times(CostTerm::kPerCommand, quantities.commands) +
               times(CostTerm::kPerChangedSlot, quantities.changed_slots);
  if (kind != CallKind::kCopy) {
    total += times(CostTerm::kPerMib, quantities.bytes) >> 20;
  }
  if (quantities.contended) {
    total = Wide{Saturated(total)} * terms[static_cast<size_t>(CostTerm::kContendedFactor)] / kFactorOne;
  }
  return (Saturated(total) + 500) / 1000;
}

int64_t CostTable::CopyGpuNs(uint64_t bytes) const {
  const auto& terms = terms_[static_cast<size_t>(CallKind::kCopy)];
  const Wide total = terms[static_cast<size_t>(CostTerm::kGpuFixed)] +
                     (static_cast<Wide>(terms[static_cast<size_t>(CostTerm::kPerMib)]) * bytes >> 20);
  return (Saturated(total) + 500) / 1000;
}

}  // namespace remaplab
