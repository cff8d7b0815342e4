#include "traces/importers/xla/log_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "traces/importers/xla/log_line.h"
#include "traces/importers/xla/log_variables.h"
#include "traces/importers/xla/scanner.h"

namespace remaplab::xla {
namespace {

constexpr size_t kMostModules = 1024;
constexpr size_t kModulesShown = 5;

std::string Bring(std::string_view modules) { return fmt::format("TF_CPP_VMODULE with {} brings it", modules); }

}  // namespace

std::string_view Name(CheckItem::State state) {
  switch (state) {
    case CheckItem::State::kOk:
      return "ok";
    case CheckItem::State::kPartly:
      return "partly";
    case CheckItem::State::kMissing:
      return "missing";
    case CheckItem::State::kNotNeeded:
      break;
  }
  return "not needed";
}

void LogCheck::Line(std::string_view text) {
  ++lines_;
  text = WithoutEscapes(text, unescaped_);
  if (text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  LogLine line;
  if (!ParseLogLine(text, line)) {
    const size_t prefix = FindLogPrefix(text, 0);
    if (prefix == std::string_view::npos || !ParseLogLine(text.substr(prefix), line)) {
      counts_[static_cast<size_t>(Message::kStep)] += text.starts_with("completed step: ") ? 1 : 0;
      return;
    }
  }
  ++log_lines_;
  std::string_view rest;
  const Message message = Classify(line.message, rest);
  ++counts_[static_cast<size_t>(message)];
  buffer_allocator_ += line.file == "gpu_executable_buffer_allocator.cc" ? 1 : 0;
  rocm_before_vmm_ =
      rocm_before_vmm_ || line.message.find("VMM allocator is only supported with CUDA") != std::string_view::npos;
  Scanner scan(rest);
  std::string_view module;
  switch (message) {
    case Message::kTable:
      cut_tables_ += rest.ends_with(" B)") ? 0 : 1;
      break;
    case Message::kRunStart:
    case Message::kExecuteStart:
      // Both name an execution; the one that is there more often counts.
      if (message == Message::kExecuteStart || Count(Message::kExecuteStart) == 0) {
        if (scan.Word(module) && (modules_.size() < kMostModules || modules_.contains(module))) {
          ++modules_[std::string(module)];
        }
      }
      break;
    case Message::kRemapModule:
      profiling_ += rest.find("profiling execution") != std::string_view::npos ? 1 : 0;
      executing_with_ += rest.find(" executing with ") != std::string_view::npos ? 1 : 0;
      two_ranges_ += rest.find(" va_range_idx=") != std::string_view::npos ? 1 : 0;
      skip_ += rest.find(" slots=") != std::string_view::npos ? 1 : 0;
      break;
    case Message::kReserved:
      ++single_range_;
      vmm_ = true;
      break;
    case Message::kAllocated:
    case Message::kReused:
      vmm_ = true;
      old_allocator_ = old_allocator_ || message == Message::kReused || line.file == "vmm_device_address_allocator.cc";
      break;
    case Message::kReservedRange:
    case Message::kClient:
      vmm_ = true;
      break;
    case Message::kAllocator:
      vmm_ = vmm_ || rest.starts_with("VMM");
      bfc_ = bfc_ || rest.starts_with("BFC");
      break;
    default:
      break;
  }
}

bool LogCheck::Usable() const {
  const bool addresses = Count(Message::kTable) + Count(Message::kMapping) > 0;
  return addresses && Count(Message::kRunStart) + Count(Message::kExecuteStart) + Count(Message::kPrepared) +
                              Count(Message::kRemapModule) >
                          0;
}

std::string LogCheck::Generation() const {
  if (log_lines_ == 0) {
    return "no log of XLA";
  }
  if (skip_ > 0 || Count(Message::kRemapTiming) > 0) {
    return "ROCm/xla pull request 1001 (skip-remap and copy-into-shadow)";
  }
  if (two_ranges_ > 0) {
    return "XLA 0.10: two ranges in turn, remapped in full on every step";
  }
  if (Count(Message::kMapping) > 0) {
    return buffer_allocator_ > 0 ? "XLA between 0.10 and 0.11, or pull request 1001: one range"
                                 : "XLA before 0.10: one range, remapped in full on every step";
  }
  if (profiling_ > 0) {
    return "XLA 0.11.1 or later with SKIP_PROFILED";
  }
  if (executing_with_ > 0) {
    return "XLA 0.11 with SKIP_TEMP or SKIP_PROFILED";
  }
  return vmm_ ? "XLA 0.10 or later with the VMM allocator and no remapping" : "XLA without remapping";
}

std::vector<CheckItem> LogCheck::Report() const {
  using State = CheckItem::State;
  std::vector<CheckItem> items;
  auto add = [&](std::string what, State state, uint64_t lines, std::string text) {
    items.push_back({std::move(what), state, lines, std::move(text)});
  };
  auto have = [](bool yes) { return yes ? State::kOk : State::kMissing; };

  add("lines of XLA's logging", have(log_lines_ > 0), log_lines_,
      log_lines_ > 0
          ? Generation()
          : "export TF_CPP_MIN_LOG_LEVEL=0 before Python starts (importing jax sets it to 1), and keep standard error");

  const uint64_t tables = Count(Message::kTable);
  const uint64_t mappings = Count(Message::kMapping);
  add("addresses of every execution's buffers", have(tables + mappings > 0), tables + mappings,
      tables > 0     ? "address tables: every slot on every step"
      : mappings > 0 ? "mapping lines: the remapped slots on every step; se_gpu_pjrt_client=3 would bring the others"
                     : Bring("se_gpu_pjrt_client=3"));

  const uint64_t named = std::max(Count(Message::kRunStart), Count(Message::kExecuteStart));
  std::vector<std::pair<uint64_t, std::string>> most;
  for (const auto& [module, count] : modules_) {
    most.emplace_back(count, module);
  }
  std::sort(most.rbegin(), most.rend());
  std::string names;
  for (size_t i = 0; i < most.size() && i < kModulesShown; ++i) {
    names += fmt::format("{}{} ({} executions)", i == 0 ? "" : ", ", most[i].second, most[i].first);
  }
  add("the module of each execution", have(named > 0), named,
      named > 0 ? names : Bring("gpu_executable=1 or pjrt_stream_executor_client=1"));

  if (cut_tables_ > 0) {
    add("complete address tables", State::kPartly, tables - cut_tables_,
        fmt::format("{} of {} were cut at 15,000 bytes: --assignment with the dump of XLA_FLAGS=--xla_dump_to=DIR says "
                    "what is missing",
                    cut_tables_, tables));
    add("which addresses changed", have(Count(Message::kChanged) > 0), Count(Message::kChanged),
        Count(Message::kChanged) > 0
            ? "tells which hidden parameters moved"
            : Bring("gpu_executable=5") + "; without it hidden parameters are taken as unchanged");
  } else {
    add("complete address tables", tables > 0 ? State::kOk : State::kMissing, tables,
        tables > 0 ? "none was cut" : "see above");
    add("which addresses changed", tables > 0 ? State::kNotNeeded : have(Count(Message::kChanged) > 0),
        Count(Message::kChanged),
        tables > 0 ? "the tables are complete"
                   : "without tables, it is all that tells of parameters; gpu_executable=5 brings it");
  }

  const uint64_t allocator = Count(Message::kAllocated) + Count(Message::kReused);
  if (bfc_ && !vmm_) {
    add("allocator lines", State::kNotNeeded, allocator,
        "this run used XLA's arena (BFC), whose addresses are not those of a remapping run; "
        "XLA_PYTHON_CLIENT_ALLOCATOR=vmm (XLA 0.10 and later) gives those");
  } else {
    add("allocator lines", have(allocator > 0), allocator,
        allocator > 0 ? "when memory is allocated and freed"
                      : Bring("device_address_vmm_allocator=3 (until 0.10: vmm_device_address_allocator=3)"));
    add("proof that memory is the same", old_allocator_ ? State::kOk : State::kMissing,
        Count(Message::kReused) + Count(Message::kCompleted),
        old_allocator_
            ? "this version says when memory is handed out again and when it is really freed"
            : "no variable brings it: this version prints the same line for fresh memory and for memory handed "
              "out again, so the trace's identity is \"address\"");
  }

  const uint64_t buffers = Count(Message::kCaptured) + Count(Message::kUpdated);
  add("command buffers", buffers > 0 ? State::kOk : State::kMissing, buffers,
      buffers > 0
          ? "how large they are, and how long XLA took to build and update them"
          : Bring("command_buffer_thunk=3") +
                "; if it was there, command buffers are off (look for --xla_gpu_enable_command_buffer= in XLA_FLAGS)");

  const uint64_t timing = Count(Message::kRemapTiming) + Count(Message::kSyncTiming);
  if (mappings > 0) {
    add("durations of remaps", have(timing > 0), timing,
        timing > 0 ? "measured by XLA itself; calibrate --from uses them"
                   : Bring("memory_reservation=2") + ", in pull request 1001 only, on steps that skip");
  } else {
    add("durations of remaps", State::kNotNeeded, timing, "this run remapped nothing slot by slot");
  }
  add("the training program's own step lines", Count(Message::kStep) > 0 ? State::kOk : State::kNotNeeded,
      Count(Message::kStep),
      Count(Message::kStep) > 0 ? "become marks in the trace" : "MaxText prints 'completed step: N'");
  if (rocm_before_vmm_) {
    add("the VMM allocator", State::kMissing, 1,
        "this XLA has it for CUDA only; on ROCm it begins with 0.11 (or use XLA_PYTHON_CLIENT_ALLOCATOR=bfc)");
  }
  return items;
}

}  // namespace remaplab::xla
