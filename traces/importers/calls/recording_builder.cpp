#include "traces/importers/calls/recording_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/parse.h"
#include "traces/format.h"
#include "traces/importers/calls/mapping_ledger.h"

namespace remaplab::calls {
namespace {

std::optional<uint64_t> ArgumentAt(std::span<const std::string_view> arguments, int position) {
  if (position == kNoArgument || static_cast<size_t>(position) >= arguments.size()) {
    return std::nullopt;
  }
  return ArgumentValue(arguments[static_cast<size_t>(position)]);
}

uint32_t SmallCount(std::optional<uint64_t> value) {
  return value && *value <= std::numeric_limits<uint16_t>::max() ? static_cast<uint32_t>(*value) : 0;
}

int32_t Ordinal(std::optional<uint64_t> value) {
  return value && *value <= std::numeric_limits<uint16_t>::max() ? static_cast<int32_t>(*value)
                                                                 : DriverCall::kUnknownDevice;
}

CallOutcome OutcomeOf(std::string_view code) {
  if (code.empty()) {
    return CallOutcome::kUnknown;
  }
  const bool ok = code == "0" || code == "hipSuccess" || code == "cudaSuccess" || code == "CUDA_SUCCESS";
  return ok ? CallOutcome::kOk : CallOutcome::kFailed;
}

// nullopt: nobody says.
std::optional<bool> CopiesOnDevice(const Function& function, const Observed& observed) {
  if (observed.device_to_device) {
    return observed.device_to_device;
  }
  if (function.direction == kNoArgument || static_cast<size_t>(function.direction) >= observed.arguments.size()) {
    return std::nullopt;
  }
  const std::string_view direction = observed.arguments[static_cast<size_t>(function.direction)];
  if (direction.ends_with("Default") || direction == "4") {
    return std::nullopt;
  }
  return direction.ends_with("DeviceToDevice") || direction == "3";
}

Status CheckTimes(const Observed& observed) {
  const auto sane = [](int64_t t) { return t > -kLatestTime && t < kLatestTime; };
  if (!sane(observed.start) || !sane(observed.end)) {
    return Fail(ErrorCode::kInput, "a time is out of range");
  }
  if (observed.end < observed.start) {
    return Fail(ErrorCode::kInput,
                fmt::format("{} ends at {}, before it starts at {}", observed.name, observed.end, observed.start));
  }
  return {};
}

void AddLoss(CallRecording& recording, uint64_t count, std::string text) {
  if (count > 0) {
    recording.losses.push_back({count, std::move(text)});
  }
}

}  // namespace

RecordingBuilder::RecordingBuilder() { Text(""); }

std::optional<uint64_t> ArgumentValue(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    text.remove_prefix(colon + 1);
  }
  const Result<uint64_t> value = ParseUInt(text, "argument");
  return value ? std::optional(*value) : std::nullopt;
}

uint32_t RecordingBuilder::Text(std::string_view text) {
  const auto [entry, added] = texts_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (added) {
    recording_.texts.emplace_back(text);
  }
  return entry->second;
}

uint32_t RecordingBuilder::ThreadOf(const Observed& observed) {
  const auto [entry, added] =
      threads_.try_emplace({observed.pid, observed.tid}, static_cast<uint32_t>(threads_.size()));
  if (added) {
    recording_.threads.push_back({observed.pid, observed.tid});
    device_changes_.emplace_back();
  }
  return entry->second;
}

Status RecordingBuilder::Add(const Observed& observed) {
  REMAPLAB_TRY(CheckTimes(observed));
  ++added_;
  Function function = FindFunction(observed.name);
  if (function.role == Role::kNested) {
    ++nested_;
    return {};
  }
  if (function.role == Role::kDeviceCopy) {
    const std::optional<bool> on_device = CopiesOnDevice(function, observed);
    unclear_copies_ += on_device ? 0 : 1;
    function.role = on_device.value_or(false) ? Role::kCall : Role::kOther;
  }
  if (function.role != Role::kCall) {
    AddOther(observed);
    if (function.role != Role::kOther) {
      const bool says = function.role == Role::kSetDevice;
      device_changes_[ThreadOf(observed)].push_back(
          {observed.start, says ? Ordinal(ArgumentAt(observed.arguments, 0)) : DriverCall::kUnknownDevice});
    }
    return {};
  }
  DriverCall call;
  call.start = observed.start;
  call.end = observed.timed ? observed.end : observed.start;
  call.timed = observed.timed;
  call.thread = ThreadOf(observed);
  call.kind = function.kind;
  call.name = Text(observed.name);
  call.code = Text(observed.code);
  call.outcome = OutcomeOf(observed.code);
  call.address = ArgumentAt(observed.arguments, function.address).value_or(DriverCall::kUnknown);
  call.object = ArgumentAt(observed.arguments, function.object).value_or(DriverCall::kUnknown);
  call.devices = SmallCount(ArgumentAt(observed.arguments, function.devices));
  call.size = observed.size.value_or(ArgumentAt(observed.arguments, function.size).value_or(DriverCall::kUnknown));
  call.device = observed.device.value_or(DriverCall::kUnknownDevice);
  if (call.kind == CallKind::kReserve && observed.returned) {
    call.address = *observed.returned;
  }
  recording_.calls.push_back(call);
  return {};
}

void RecordingBuilder::AddOther(const Observed& observed) {
  const auto [entry, added] = others_.try_emplace(std::string(observed.name), recording_.others.size());
  if (added) {
    recording_.others.push_back({entry->first, 0, 0});
  }
  CallRecording::Other& other = recording_.others[entry->second];
  ++other.calls;
  const int64_t ns = observed.timed ? observed.end - observed.start : 0;
  if (__builtin_add_overflow(other.ns, ns, &other.ns)) {
    other.ns = std::numeric_limits<int64_t>::max();
  }
}

void RecordingBuilder::SortByTime() {
  const auto earlier = [](const auto& a, const auto& b) { return a.start < b.start; };
  if (!std::is_sorted(recording_.calls.begin(), recording_.calls.end(), earlier)) {
    std::stable_sort(recording_.calls.begin(), recording_.calls.end(), earlier);
  }
  for (std::vector<DeviceChange>& changes : device_changes_) {
    std::stable_sort(changes.begin(), changes.end(), earlier);
  }
}

void RecordingBuilder::FillInDevices() {
  std::vector<size_t> seen(device_changes_.size(), 0);
  for (DriverCall& call : recording_.calls) {
    const std::vector<DeviceChange>& changes = device_changes_[call.thread];
    size_t& next = seen[call.thread];
    while (next < changes.size() && changes[next].start <= call.start) {
      ++next;
    }
    if (call.device == DriverCall::kUnknownDevice && next > 0) {
      call.device = changes[next - 1].device;
    }
  }
}

void RecordingBuilder::FollowMappings() {
  std::map<uint64_t, MappingLedger> ledgers;  // by process
  for (DriverCall& call : recording_.calls) {
    ledgers[recording_.threads[call.thread].pid].See(call);
  }
}

CallRecording RecordingBuilder::Finish() {
  SortByTime();
  FillInDevices();
  FollowMappings();
  std::stable_sort(recording_.others.begin(), recording_.others.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  AddLoss(recording_, nested_, "HSA calls are the work of HIP calls and not counted on their own");
  AddLoss(recording_, unclear_copies_,
          "copies do not say their direction and are not counted as device-to-device copies");
  uint64_t presumed = 0;
  uint64_t unresolved = 0;
  for (const DriverCall& call : recording_.calls) {
    if (call.kind == CallKind::kReserve && call.size != DriverCall::kUnknown) {
      presumed += call.address_presumed ? 1 : 0;
      unresolved += call.address == DriverCall::kUnknown ? 1 : 0;
    }
  }
  AddLoss(recording_, presumed, "addresses of reservations are those of the first map in them");
  AddLoss(recording_, unresolved, "reservations have no known address");
  return std::move(recording_);
}

}  // namespace remaplab::calls
