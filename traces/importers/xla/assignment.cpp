#include "traces/importers/xla/assignment.h"

#include <fmt/format.h>

#include "traces/byte_source.h"
#include "traces/importers/xla/scanner.h"

namespace remaplab::xla {
namespace {

constexpr size_t kLargestDump = size_t{256} << 20;

// "allocation 3: size 64, color 1, page 0, parameter 4, shape |f32[16]| at ShapeIndex {}, maybe-live-out:"
bool ParseAllocation(std::string_view line, Allocation& allocation) {
  Scanner scan(line);
  uint64_t index = 0;
  if (!scan.Skip("allocation ") || !scan.Decimal(index) || index >= UINT32_MAX - 1 || !scan.Skip(": size ") ||
      !scan.Decimal(allocation.size) || allocation.size > (uint64_t{1} << 48)) {
    return false;
  }
  allocation.index = static_cast<uint32_t>(index);
  while (scan.Skip(", ")) {
    int64_t number = 0;
    std::string_view ignored;
    if (scan.Skip("color ")) {
      if (!scan.Signed(number) || number < INT32_MIN || number > INT32_MAX) {
        return false;
      }
      allocation.space = static_cast<int32_t>(number);
    } else if (scan.Skip("page ")) {
      if (!scan.Signed(number)) {
        return false;
      }
    } else if (scan.Skip("parameter ")) {
      if (!scan.Signed(allocation.parameter) || allocation.parameter < 0 || !scan.Skip(", shape |") ||
          !scan.Until("| at ShapeIndex {", ignored) || !scan.Until("}", ignored)) {
        return false;
      }
    } else if (scan.Skip("output shape is |")) {
      if (!scan.Until("|", ignored)) {
        return false;
      }
      allocation.live_out = true;
    } else if (scan.Skip("constant")) {
      allocation.constant = true;
    } else if (scan.Skip("thread-local")) {
      allocation.thread_local_ = true;
    } else if (scan.Skip("maybe-live-out")) {
      allocation.live_out = true;
    } else if (scan.Skip("preallocated-temp")) {
      allocation.temp = true;
    } else if (scan.rest().find_first_of(",:") != std::string_view::npos) {
      // An attribute of a version that this does not know.
      scan.Skip(scan.rest().substr(0, scan.rest().find_first_of(",:")));
    } else {
      return false;
    }
  }
  return scan.Skip(":") && scan.AtEnd();
}

}  // namespace

Result<Assignment> ParseAssignment(std::string_view text, std::string name) {
  Assignment assignment;
  assignment.name = std::move(name);
  bool begun = false;
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t feed = text.find('\n');
    std::string_view line = text.substr(0, feed);
    text.remove_prefix(feed == std::string_view::npos ? text.size() : feed + 1);
    ++number;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line == "BufferAssignment:") {
      begun = true;
    } else if (line.starts_with("allocation ")) {
      Allocation allocation;
      if (!ParseAllocation(line, allocation)) {
        return Fail(ErrorCode::kInput, fmt::format("{}:{}: this line describes no allocation; was the dump cut off?",
                                                   assignment.name, number));
      }
      if (!assignment.allocations.empty() && allocation.index <= assignment.allocations.back().index) {
        return Fail(ErrorCode::kInput, fmt::format("{}:{}: allocation {} comes after allocation {}", assignment.name,
                                                   number, allocation.index, assignment.allocations.back().index));
      }
      assignment.allocations.push_back(allocation);
    } else if (line.starts_with(" value: <") && !assignment.allocations.empty()) {
      ++assignment.allocations.back().values;
    }
  }
  if (!begun || assignment.allocations.empty()) {
    return Fail(ErrorCode::kInput, fmt::format("{}: not a buffer assignment dump: no {} in it", assignment.name,
                                               begun ? "allocation" : "line 'BufferAssignment:'"));
  }
  return assignment;
}

Result<Assignment> LoadAssignment(const std::string& path) {
  auto text = [&]() -> Result<std::string> {
    REMAPLAB_ASSIGN(ByteSource source, ByteSource::Open(path));
    std::string bytes;
    while (true) {
      constexpr size_t kChunk = size_t{1} << 20;
      const size_t size = bytes.size();
      bytes.resize(size + kChunk);
      REMAPLAB_ASSIGN(const size_t count, source.Read(bytes.data() + size, kChunk));
      bytes.resize(size + count);
      if (bytes.size() > kLargestDump) {
        return Fail(ErrorCode::kInput, fmt::format("more than {} bytes are no assignment dump", kLargestDump));
      }
      if (count == 0) {
        break;
      }
    }
    if (source.truncated()) {
      return Fail(ErrorCode::kInput, "the compressed data ends early");
    }
    return bytes;
  }();
  if (!text) {
    return Fail(std::move(text).error().WithContext(path));
  }
  return ParseAssignment(*text, path);
}

}  // namespace remaplab::xla
