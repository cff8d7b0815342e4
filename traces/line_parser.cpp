#include "traces/line_parser.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <limits>
#include <optional>

#include "base/parse.h"
#include "traces/format.h"

namespace remaplab {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// Messages show a wrong value; a long one only by its start.
std::string Shown(const element& value) {
  constexpr size_t kLongest = 40;
  std::string text = simdjson::minify(value);
  if (text.size() > kLongest) {
    text.resize(kLongest);
    text += "...";
  }
  return text;
}

// The fields of one JSON object, by name and type. `where` starts every message: "alloc", "program: slot 3".
class Fields {
 public:
  Fields(simdjson::dom::object object, std::string where) : object_(object), where_(std::move(where)) {}

  tl::unexpected<Error> Refuse(std::string_view problem) const {
    return Fail(ErrorCode::kInput, fmt::format("{}: {}", where_, problem));
  }

  tl::unexpected<Error> Refuse(std::string_view name, std::string_view wanted, const element& value) const {
    return Fail(ErrorCode::kInput,
                fmt::format("{}: field '{}' must be {}, not {}", where_, name, wanted, Shown(value)));
  }

  // Absent and null are the same, but for the fields where null says something.
  Result<std::optional<element>> Find(std::string_view name, bool keep_null = false) const {
    std::optional<element> found;
    for (const auto field : object_) {
      if (field.key == name) {
        if (found) {
          return Refuse(fmt::format("field '{}' is there twice", name));
        }
        found = field.value;
      }
    }
    if (found && found->is_null() && !keep_null) {
      found.reset();
    }
    return found;
  }

  Result<element> Require(std::string_view name, bool keep_null = false) const {
    REMAPLAB_ASSIGN(const std::optional<element> value, Find(name, keep_null));
    if (!value) {
      return Refuse(fmt::format("field '{}' is missing", name));
    }
    return *value;
  }

  Result<uint64_t> UIntOf(std::string_view name, const element& value, uint64_t low, uint64_t high) const {
    uint64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS || number < low || number > high) {
      return Refuse(name, fmt::format("a whole number from {} to {}", low, high), value);
    }
    return number;
  }

  Result<uint64_t> UInt(std::string_view name, uint64_t low, uint64_t high) const {
    REMAPLAB_ASSIGN(const element value, Require(name));
    return UIntOf(name, value, low, high);
  }

  Result<uint64_t> UIntOr(std::string_view name, uint64_t low, uint64_t high, uint64_t absent) const {
    REMAPLAB_ASSIGN(const std::optional<element> value, Find(name));
    return value ? UIntOf(name, *value, low, high) : absent;
  }

  Result<int64_t> IntOr(std::string_view name, int64_t low, int64_t high, int64_t absent) const {
    REMAPLAB_ASSIGN(const std::optional<element> value, Find(name));
    if (!value) {
      return absent;
    }
    int64_t number = 0;
    if (value->get(number) != simdjson::SUCCESS || number < low || number > high) {
      return Refuse(name, fmt::format("a whole number from {} to {}", low, high), *value);
    }
    return number;
  }

  Result<bool> BoolOr(std::string_view name, bool absent) const {
    REMAPLAB_ASSIGN(const std::optional<element> value, Find(name));
    bool result = absent;
    if (value && value->get(result) != simdjson::SUCCESS) {
      return Refuse(name, "true or false", *value);
    }
    return result;
  }

  Result<std::string_view> String(std::string_view name) const {
    REMAPLAB_ASSIGN(const element value, Require(name));
    return StringOf(name, value);
  }

  Result<std::string> StringOrEmpty(std::string_view name) const {
    REMAPLAB_ASSIGN(const std::optional<element> value, Find(name));
    if (!value) {
      return std::string();
    }
    REMAPLAB_ASSIGN(const std::string_view text, StringOf(name, *value));
    return std::string(text);
  }

  Result<simdjson::dom::array> Array(std::string_view name) const {
    REMAPLAB_ASSIGN(const element value, Require(name));
    simdjson::dom::array array;
    if (value.get(array) != simdjson::SUCCESS) {
      return Refuse(name, "an array", value);
    }
    return array;
  }

  // A free-form object, as text.
  Result<std::string> ObjectText(std::string_view name) const {
    REMAPLAB_ASSIGN(const std::optional<element> value, Find(name));
    if (value && !value->is_object()) {
      return Refuse(name, "an object", *value);
    }
    return value ? std::string(simdjson::minify(*value)) : std::string("{}");
  }

  // One of a vocabulary's words.
  template <typename Word>
  Result<Word> WordOr(std::string_view name, std::optional<Word> (*parse)(std::string_view), std::string_view wanted,
                      Word absent) const {
    REMAPLAB_ASSIGN(const std::optional<element> value, Find(name));
    if (!value) {
      return absent;
    }
    std::string_view text;
    std::optional<Word> word;
    if (value->get(text) == simdjson::SUCCESS) {
      word = parse(text);
    }
    if (!word) {
      return Refuse(name, wanted, *value);
    }
    return *word;
  }

  Result<int64_t> Time() const { return IntOr("t", -kLatestTime, kLatestTime, kUnknownTime); }

 private:
  Result<std::string_view> StringOf(std::string_view name, const element& value) const {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      return Refuse(name, "a string", value);
    }
    return text;
  }

  simdjson::dom::object object_;
  std::string where_;
};

constexpr uint64_t kAnyNumber = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kLargestBackingId = kNullBacking - 1;
constexpr uint64_t kLargestProgramId = std::numeric_limits<uint32_t>::max() - 1;
constexpr uint64_t kLargestInt32 = std::numeric_limits<int32_t>::max();

Result<uint64_t> ParseAddress(const Fields& fields) {
  REMAPLAB_ASSIGN(const element value, fields.Require("address", /*keep_null=*/true));
  if (value.is_null()) {
    return kUnknownAddress;
  }
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS && text.starts_with("0x")) {
    const auto address = ParseUInt(text, "address");
    if (address && *address != kUnknownAddress) {
      return *address;
    }
  }
  return fields.Refuse("address", "a string \"0x...\" of up to 64 bits or null", value);
}

Status ParseAlloc(const Fields& fields, TraceRecord& record) {
  record.type = TraceEventType::kAlloc;
  REMAPLAB_ASSIGN(record.backing, fields.UInt("backing", 0, kLargestBackingId));
  REMAPLAB_ASSIGN(record.address, ParseAddress(fields));
  REMAPLAB_ASSIGN(record.size, fields.UInt("size", 1, kLargestSize));
  REMAPLAB_ASSIGN(record.reused, fields.BoolOr("reused", false));
  return {};
}

Status ParseFree(const Fields& fields, TraceRecord& record) {
  REMAPLAB_ASSIGN(record.backing, fields.UInt("backing", 0, kLargestBackingId));
  REMAPLAB_ASSIGN(const bool deferred, fields.BoolOr("deferred", false));
  record.type = deferred ? TraceEventType::kDeferredFree : TraceEventType::kFree;
  return {};
}

Result<TraceBind> ParseBindEntry(const Fields& fields, const element& entry, size_t number) {
  const auto refuse = [&] {
    return fields.Refuse(
        fmt::format("field 'bind': entry {} must be [slot, backing] or [slot, null], not {}", number, Shown(entry)));
  };
  simdjson::dom::array pair;
  if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2) {
    return refuse();
  }
  uint64_t slot = 0;
  uint64_t backing = kNullBacking;
  const element second = pair.at(1).value_unsafe();
  const bool backing_fine =
      second.is_null() || (second.get(backing) == simdjson::SUCCESS && backing <= kLargestBackingId);
  if (pair.at(0).get(slot) != simdjson::SUCCESS || slot >= kUnboundSlot || !backing_fine) {
    return refuse();
  }
  return TraceBind{static_cast<uint32_t>(slot), backing};
}

Status ParseStep(const Fields& fields, TraceRecord& record) {
  record.type = TraceEventType::kStep;
  REMAPLAB_ASSIGN(const uint64_t program, fields.UInt("program", 0, kLargestProgramId));
  record.program_id = static_cast<uint32_t>(program);
  REMAPLAB_ASSIGN(record.step, fields.UInt("step", 0, kAnyNumber));
  REMAPLAB_ASSIGN(record.duration, fields.IntOr("duration", 0, kLongestDuration, kUnknownTime));
  REMAPLAB_ASSIGN(const simdjson::dom::array bind, fields.Array("bind"));
  record.bind.clear();
  for (const element entry : bind) {
    REMAPLAB_ASSIGN(const TraceBind parsed, ParseBindEntry(fields, entry, record.bind.size() + 1));
    record.bind.push_back(parsed);
  }
  return {};
}

Result<TraceSlot> ParseSlot(const Fields& fields) {
  TraceSlot slot;
  REMAPLAB_ASSIGN(const uint64_t index, fields.UInt("index", 0, kUnboundSlot - 1));
  slot.index = static_cast<uint32_t>(index);
  REMAPLAB_ASSIGN(slot.size, fields.UInt("size", 1, kLargestSize));
  REMAPLAB_ASSIGN(const uint64_t space, fields.UIntOr("space", 0, kLargestInt32, 0));
  slot.space = static_cast<int32_t>(space);
  REMAPLAB_ASSIGN(slot.kind, fields.WordOr("kind", ParseSlotKind, "parameter, output, temp or unknown", slot.kind));
  REMAPLAB_ASSIGN(slot.access, fields.WordOr("access", ParseAccess, "read, write, both or unknown", slot.access));
  REMAPLAB_ASSIGN(const std::optional<element> used, fields.Find("in_command_buffer"));
  if (used) {
    REMAPLAB_ASSIGN(const bool yes, fields.BoolOr("in_command_buffer", false));
    slot.in_command_buffer = yes ? Tristate::kYes : Tristate::kNo;
  }
  return slot;
}

Status ParseProgram(const Fields& fields, TraceRecord& record) {
  record.type = TraceEventType::kProgram;
  TraceProgram& program = record.program;
  REMAPLAB_ASSIGN(const uint64_t id, fields.UInt("id", 0, kLargestProgramId));
  program.id = static_cast<uint32_t>(id);
  REMAPLAB_ASSIGN(const std::string_view module, fields.String("module"));
  program.module = module;
  REMAPLAB_ASSIGN(const uint64_t device, fields.UIntOr("device", 0, kLargestInt32, 0));
  program.device = static_cast<int32_t>(device);
  REMAPLAB_ASSIGN(const uint64_t commands, fields.UIntOr("commands", 0, kLargestInt32, 0));
  program.commands = static_cast<uint32_t>(commands);
  REMAPLAB_ASSIGN(const simdjson::dom::array slots, fields.Array("slots"));
  program.slots.clear();
  uint64_t total = 0;
  for (const element entry : slots) {
    const std::string where = fmt::format("program: entry {} of 'slots'", program.slots.size() + 1);
    simdjson::dom::object object;
    if (entry.get(object) != simdjson::SUCCESS) {
      return Fail(ErrorCode::kInput, fmt::format("{} must be an object, not {}", where, Shown(entry)));
    }
    REMAPLAB_ASSIGN(const TraceSlot slot, ParseSlot(Fields(object, where)));
    if (!program.slots.empty() && slot.index <= program.slots.back().index) {
      return Fail(ErrorCode::kInput, fmt::format("{}: index {} does not ascend: the one before it is {}", where,
                                                 slot.index, program.slots.back().index));
    }
    total += slot.size;
    if (total > kLargestTable) {
      return fields.Refuse(fmt::format("the slots' sizes sum up to more than {} bytes", kLargestTable));
    }
    program.slots.push_back(slot);
  }
  return {};
}

Status ParseProgramEnd(const Fields& fields, TraceRecord& record) {
  record.type = TraceEventType::kProgramEnd;
  REMAPLAB_ASSIGN(const uint64_t id, fields.UInt("id", 0, kLargestProgramId));
  record.program_id = static_cast<uint32_t>(id);
  return {};
}

Status ParseMark(const Fields& fields, TraceRecord& record) {
  record.type = TraceEventType::kMark;
  REMAPLAB_ASSIGN(const std::string_view name, fields.String("name"));
  record.mark.name = name;
  record.mark.t = record.t;
  return {};
}

Status ParseTiming(const Fields& fields, TraceRecord& record) {
  record.type = TraceEventType::kTiming;
  REMAPLAB_ASSIGN(const std::string_view kind, fields.String("kind"));
  record.timing.kind = kind;
  REMAPLAB_ASSIGN(const uint64_t ns, fields.UInt("ns", 0, static_cast<uint64_t>(kLatestTime)));
  record.timing.ns = static_cast<int64_t>(ns);
  REMAPLAB_ASSIGN(record.timing.count, fields.UIntOr("count", 0, kAnyNumber, 0));
  return {};
}

std::optional<TraceIdentity> ParseIdentity(std::string_view name) {
  if (name == "backing") {
    return TraceIdentity::kBacking;
  }
  return name == "address" ? std::optional(TraceIdentity::kAddress) : std::nullopt;
}

Status ParseEnd(const Fields& fields, TraceEnd& end) {
  REMAPLAB_ASSIGN(end.identity, fields.WordOr("identity", ParseIdentity, "backing or address", end.identity));
  REMAPLAB_ASSIGN(end.starts_mid_life, fields.BoolOr("starts_mid_life", false));
  REMAPLAB_ASSIGN(end.lost_events, fields.UIntOr("lost_events", 0, kAnyNumber, 0));
  REMAPLAB_ASSIGN(end.counts_json, fields.ObjectText("counts"));
  end.present = true;
  return {};
}

using RecordParser = Status (*)(const Fields& fields, TraceRecord& record);

RecordParser ParserFor(std::string_view event) {
  struct Entry {
    std::string_view event;
    RecordParser parse;
  };
  static constexpr Entry kParsers[] = {
      {"alloc", ParseAlloc},     {"free", ParseFree}, {"step", ParseStep},
      {"program", ParseProgram}, {"mark", ParseMark}, {"program_end", ParseProgramEnd},
      {"timing", ParseTiming},
  };
  for (const Entry& entry : kParsers) {
    if (entry.event == event) {
      return entry.parse;
    }
  }
  return nullptr;
}

Result<TraceHeader> ParseHeader(const Fields& fields) {
  TraceHeader header;
  REMAPLAB_ASSIGN(const std::optional<element> version, fields.Find("remaptrace"));
  if (!version) {
    return Fail(ErrorCode::kInput, "not a remaptrace: the first line has no field 'remaptrace'");
  }
  REMAPLAB_ASSIGN(const uint64_t number, fields.UIntOf("remaptrace", *version, 1, kLargestInt32));
  if (number > static_cast<uint64_t>(kFormatVersion)) {
    return fields.Refuse(
        fmt::format("the file has format version {}, this program reads versions up to {}", number, kFormatVersion));
  }
  header.version = static_cast<int64_t>(number);
  REMAPLAB_ASSIGN(const std::string unit, fields.StringOrEmpty("time_unit"));
  if (!unit.empty() && unit != "ns") {
    return fields.Refuse(fmt::format("field 'time_unit' must be \"ns\", not \"{}\"", unit));
  }
  REMAPLAB_ASSIGN(header.source, fields.StringOrEmpty("source"));
  REMAPLAB_ASSIGN(header.tool, fields.StringOrEmpty("tool"));
  REMAPLAB_ASSIGN(header.granularity, fields.UIntOr("granularity", 0, kLargestGranularity, 0));
  REMAPLAB_ASSIGN(header.allocator, fields.StringOrEmpty("allocator"));
  REMAPLAB_ASSIGN(header.meta_json, fields.ObjectText("meta"));
  return header;
}

}  // namespace

class LineParser::Dom {
 public:
  // The line as an object; kInput "not JSON: ..." otherwise.
  Result<simdjson::dom::object> Parse(std::string_view text, bool& not_json) {
    element root;
    const simdjson::error_code error = parser_.parse(text.data(), text.size(), /*realloc_if_needed=*/false).get(root);
    not_json = error != simdjson::SUCCESS && text.starts_with('{');
    if (error != simdjson::SUCCESS) {
      return Fail(ErrorCode::kInput, fmt::format("not JSON: {}", simdjson::error_message(error)));
    }
    simdjson::dom::object object;
    if (root.get(object) != simdjson::SUCCESS) {
      return Fail(ErrorCode::kInput, fmt::format("the line must be a JSON object, not {}", Shown(root)));
    }
    return object;
  }

 private:
  simdjson::dom::parser parser_;
};

LineParser::LineParser() : dom_(std::make_unique<Dom>()) {}
LineParser::LineParser(LineParser&&) noexcept = default;
LineParser& LineParser::operator=(LineParser&&) noexcept = default;
LineParser::~LineParser() = default;

Result<TraceHeader> LineParser::Header(std::string_view text) {
  auto object = dom_->Parse(text, not_json_);
  if (!object) {
    return Fail(std::move(object).error().WithContext("not a remaptrace"));
  }
  return ParseHeader(Fields(*object, "header"));
}

Result<LineParser::Kind> LineParser::Event(std::string_view text, TraceRecord& record, TraceEnd& end) {
  if (ParseRegularLine(text, record)) {
    return Kind::kRecord;
  }
  REMAPLAB_ASSIGN(const simdjson::dom::object object, dom_->Parse(text, not_json_));
  REMAPLAB_ASSIGN(const std::string_view event, Fields(object, "line").String("event"));
  const Fields fields(object, std::string(event));
  if (event == "end") {
    REMAPLAB_TRY(ParseEnd(fields, end));
    return Kind::kEnd;
  }
  const RecordParser parse = ParserFor(event);
  if (parse == nullptr) {
    return Kind::kUnknown;
  }
  REMAPLAB_ASSIGN(record.t, fields.Time());
  REMAPLAB_TRY(parse(fields, record));
  return Kind::kRecord;
}

}  // namespace remaplab
