#include "traces/importers/xla/prologue.h"

#include <algorithm>
#include <bit>

#include "traces/importers/xla/message.h"
#include "traces/importers/xla/scanner.h"

namespace remaplab::xla {
namespace {

constexpr uint64_t kSmallestGranularity = 4096;
constexpr uint64_t kLargestGranularity = uint64_t{2} << 20;

std::string AllocatorName(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" ."));
  std::string name;
  for (const char c : word) {
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

}  // namespace

void Prologue::Look(std::string_view text) {
  LogLine line;
  if (!ParseLogLine(text, line)) {
    return;
  }
  any_log_line_ = true;
  std::string_view rest;
  Scanner scan("");
  uint64_t number = 0;
  std::string_view module;
  switch (Classify(line.message, rest)) {
    case Message::kAllocator:
      allocator_ = AllocatorName(rest);
      break;
    case Message::kClient:
    case Message::kReused:
      allocator_ = "vmm";
      break;
    case Message::kAllocated:
      allocator_ = "vmm";
      if (Scanner at(rest); at.Pointer(number)) {
        address_bits_ |= number;
      }
      break;
    case Message::kChanged:
      changed_lines_ = true;
      break;
    case Message::kReserved:
    case Message::kReservedRange:
      scan = Scanner(rest);
      if ((scan.SkipPast("granularity: ") || scan.SkipPast("granularity=")) && scan.Decimal(number)) {
        said_granularity_ = number;
        allocator_ = "vmm";
      }
      break;
    case Message::kPrepared:
    case Message::kExecuteStart:
    case Message::kRemapModule:
      scan = Scanner(rest);
      if (scan.Word(module)) {
        threads_[line.thread].module = module;
      }
      break;
    case Message::kCaptured:
      scan = Scanner(rest);
      if (scan.SkipPast("num_commands=") && scan.Decimal(number)) {
        threads_[line.thread].commands += static_cast<uint32_t>(number);
      }
      break;
    case Message::kExecuteEnd: {
      Thread& thread = threads_[line.thread];
      if (!thread.module.empty() && thread.commands > 0) {
        commands_.try_emplace(thread.module, thread.commands);
      }
      threads_.erase(line.thread);
      break;
    }
    default:
      if (device_name_.empty() && line.message.find("StreamExecutor [0]: ") != std::string_view::npos) {
        scan = Scanner(line.message);
        std::string_view name;
        if (scan.SkipPast("StreamExecutor [0]: ")) {
          device_name_ = scan.Until(",", name) ? name : scan.rest();
        }
      }
      break;
  }
}

uint64_t Prologue::granularity() const {
  if (said_granularity_ >= 1 && said_granularity_ <= (uint64_t{1} << 40)) {
    return said_granularity_;
  }
  if (!vmm()) {
    return 0;
  }
  // The allocator's addresses are multiples of it.
  const uint64_t fits = address_bits_ == 0 ? kLargestGranularity : uint64_t{1} << std::countr_zero(address_bits_);
  return std::clamp(fits, kSmallestGranularity, kLargestGranularity);
}

uint32_t Prologue::CommandsOf(const std::string& module) const {
  const auto found = commands_.find(module);
  return found == commands_.end() ? 0 : found->second;
}

}  // namespace remaplab::xla
