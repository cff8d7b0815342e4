#include "analysis/xla_flags.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace remaplab {
namespace {

enum Release : uint8_t { k092, k010, k0110, k0111, kPr1001, kReleaseCount };
constexpr std::array<std::string_view, kReleaseCount> kReleaseNames = {
    "0.9.2 and earlier", "0.10.0 to 0.10.2", "0.11.0", "0.11.1 and later", "ROCm/xla pull request 1001"};

constexpr std::string_view kMode = "--xla_gpu_command_buffer_update_mode=";
constexpr std::string_view kSkipRemap = "--xla_gpu_experimental_command_buffer_vmm_skip_remap=";
constexpr std::string_view kThreshold = "--xla_gpu_experimental_command_buffer_vmm_copy_threshold_bytes=";

struct Parts {
  std::string_view base;  // "skip_remap"
  std::string_view parameters;
  bool shadow = false;
  std::string threshold;  // digits; empty when not known
};

std::string DigitsAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

Parts Parse(std::string_view strategy, std::string_view resolved) {
  Parts parts;
  const size_t plus = strategy.find('+');
  const std::string_view first = strategy.substr(0, plus);
  parts.base = first.substr(0, first.find('('));
  parts.parameters = first.substr(parts.base.size());
  parts.shadow = strategy.find("copy_shadow") != std::string_view::npos;
  if (parts.base == "copy_shadow") {
    parts.base = "full_remap";
    parts.parameters = {};
  }
  parts.threshold = DigitsAfter(strategy, "threshold=");
  if (parts.threshold.empty()) {
    parts.threshold = DigitsAfter(resolved, "threshold=");
  }
  return parts;
}

using Rows = std::vector<XlaAvailability>;

Rows NowhereRows(std::string_view note) {
  Rows rows;
  for (const std::string_view name : kReleaseNames) {
    rows.push_back({name, false, {}, std::string(note)});
  }
  return rows;
}

void Give(Rows& rows, Release release, std::string flags, std::string note = {}) {
  rows[release].available = true;
  rows[release].flags = std::move(flags);
  rows[release].note = std::move(note);
}

Rows NoRemapRows() {
  Rows rows = NowhereRows("");
  Give(rows, k092, "", "the only behaviour there is");
  for (const Release release : {k010, k0110, k0111, kPr1001}) {
    Give(rows, release, fmt::format("{}ALWAYS_UPDATE", kMode), "the default");
  }
  return rows;
}

Rows FullRemapRows(const Parts& parts, XlaPlatform platform) {
  Rows rows = NowhereRows("not available: 0.11 remaps only buffers that keep their place");
  rows[k092].note = "not available before 0.10.0";
  if (parts.shadow) {
    rows[k010].note = "not available: no shadow buffers in this release";
  } else if (platform == XlaPlatform::kCuda) {
    Give(rows, k010, fmt::format("{}NEVER_UPDATE", kMode), "two ranges in turn, each remapped in full");
  } else {
    rows[k010].note = "not available: remapping needs CUDA in this release";
  }
  if (platform == XlaPlatform::kRocm) {
    std::string flags = fmt::format("{}NEVER_UPDATE {}false", kMode, kSkipRemap);
    if (parts.shadow) {
      flags += fmt::format(" {}{}", kThreshold, parts.threshold);
    }
    Give(rows, kPr1001, std::move(flags));
  } else if (!parts.shadow) {
    Give(rows, kPr1001, fmt::format("{}NEVER_UPDATE", kMode));
  } else {
    rows[kPr1001].note = "not available: its shadow buffers are for ROCm only";
  }
  return rows;
}

Rows SkipRemapRows(const Parts& parts, XlaPlatform platform) {
  Rows rows = NowhereRows("not available in any release up to 0.11.2");
  if (platform != XlaPlatform::kRocm) {
    rows[kPr1001].note = "not available: it skips on ROCm only";
    return rows;
  }
  std::string flags = fmt::format("{}NEVER_UPDATE", kMode);
  if (parts.shadow) {
    flags += fmt::format(" {}{}", kThreshold, parts.threshold);
  }
  const bool by_address = parts.parameters.find("identity=address") != std::string_view::npos;
  Give(rows, kPr1001, std::move(flags),
       by_address ? "" : "it compares addresses, not memory: see skip_remap(identity=address) for the risk");
  return rows;
}

Rows SkipTempRows() {
  Rows rows = NowhereRows("not available before 0.11.0");
  Give(rows, k0110, fmt::format("{}SKIP_TEMP", kMode));
  Give(rows, k0111, fmt::format("{}SKIP_TEMP", kMode));
  rows[kPr1001].note = "not available: this build predates the mode";
  return rows;
}

Rows SkipProfiledRows(const Parts& parts) {
  Rows rows = NowhereRows("not available before 0.11.1");
  const std::string steps = DigitsAfter(parts.parameters, "steps=");
  const bool as_xla = steps.empty() || steps == "3";
  Give(rows, k0111, fmt::format("{}SKIP_PROFILED", kMode), as_xla ? "" : "XLA watches 3 executions, whatever is asked");
  rows[kPr1001].note = "not available: this build predates the mode";
  return rows;
}

}  // namespace

Result<XlaPlatform> ParseXlaPlatform(std::string_view text) {
  if (text == "cuda" || text == "rocm") {
    return text == "cuda" ? XlaPlatform::kCuda : XlaPlatform::kRocm;
  }
  return Fail(ErrorCode::kUsage, fmt::format("--platform: '{}' is not one of cuda, rocm", text));
}

std::string_view Name(XlaPlatform platform) { return platform == XlaPlatform::kCuda ? "cuda" : "rocm"; }

std::vector<XlaAvailability> XlaFlagsFor(std::string_view strategy, std::string_view resolved, XlaPlatform platform) {
  const Parts parts = Parse(strategy, resolved);
  if (parts.shadow && parts.base != "full_remap" && parts.base != "skip_remap") {
    return NowhereRows("not available in any jaxlib");
  }
  if (parts.base == "no_remap") {
    return NoRemapRows();
  }
  if (parts.base == "full_remap") {
    return FullRemapRows(parts, platform);
  }
  if (parts.base == "skip_remap") {
    return SkipRemapRows(parts, platform);
  }
  if (parts.base == "skip_temp") {
    return SkipTempRows();
  }
  if (parts.base == "skip_profiled") {
    return SkipProfiledRows(parts);
  }
  return NowhereRows("not available in any jaxlib");
}

Result<size_t> XlaRowOf(std::string_view jaxlib) {
  if (jaxlib == "pr1001") {
    return size_t{kPr1001};
  }
  std::array<int, 3> version{};
  const char* at = jaxlib.data();
  const char* const end = jaxlib.data() + jaxlib.size();
  size_t parts = 0;
  while (parts < version.size() && at != end) {
    const auto [next, error] = std::from_chars(at, end, version[parts]);
    if (error != std::errc() || version[parts] < 0) {
      break;
    }
    ++parts;
    at = next;
    if (at != end && *at == '.' && parts < version.size()) {
      ++at;
    } else {
      break;
    }
  }
  // What follows the third number (".dev2026", "+cuda12") does not matter.
  if (parts < 2 || (at != end && parts < version.size())) {
    return Fail(ErrorCode::kUsage, fmt::format("--jaxlib: '{}' is not a version such as 0.11.2, nor pr1001", jaxlib));
  }
  if (version[0] == 0 && version[1] < 10) {
    return size_t{k092};
  }
  if (version[0] == 0 && version[1] == 10) {
    return size_t{k010};
  }
  return size_t{version[0] == 0 && version[1] == 11 && version[2] == 0 ? k0110 : k0111};
}

}  // namespace remaplab
