#include "backends/inject_faults.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/parse.h"

namespace remaplab {
namespace {

Status ParseParameter(std::string_view text, std::string_view what, FaultSpec& spec) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  if (name == "call") {
    REMAPLAB_ASSIGN(spec.call, ParseUInt(value, what));
    if (spec.call == 0) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: calls are counted from 1", what));
    }
  } else if (name == "rate") {
    REMAPLAB_ASSIGN(spec.rate, ParseDouble(value, what));
    if (spec.rate < 0 || spec.rate > 1) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: a rate lies between 0 and 1", what));
    }
  } else if (name == "seed") {
    REMAPLAB_ASSIGN(spec.seed, ParseUInt(value, what));
  } else {
    return Fail(ErrorCode::kUsage, fmt::format("{}: unknown parameter '{}' (call, rate, seed)", what, name));
  }
  return {};
}

uint64_t Threshold(double rate) { return rate >= 1 ? 0 : static_cast<uint64_t>(std::ldexp(rate, 64)); }

}  // namespace

Result<FaultSpec> ParseFaultSpec(std::string_view text) {
  const std::string what = fmt::format("fault '{}'", text);
  FaultSpec spec;
  std::string_view rest = text;
  constexpr std::string_view kCleanup = "cleanup:";
  if (rest.starts_with(kCleanup)) {
    spec.in_cleanup = true;
    rest.remove_prefix(kCleanup.size());
  }
  const size_t colon = rest.find(':');
  const std::optional<CallKind> kind = ParseCallKind(rest.substr(0, colon));
  if (!kind || colon == std::string_view::npos) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: want [cleanup:]KIND:call=N or KIND:rate=R,seed=S, where KIND is one "
                            "of {}",
                            what, fmt::join(kCallKindNames, ", ")));
  }
  spec.kind = *kind;
  rest.remove_prefix(colon + 1);
  bool has_rate = false;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view parameter = rest.substr(0, comma);
    has_rate = has_rate || parameter.starts_with("rate=");
    REMAPLAB_TRY(ParseParameter(parameter, what, spec));
    if (comma == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  if (has_rate == (spec.call != 0)) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: want either call=N or rate=R", what));
  }
  return spec;
}

InjectFaults::InjectFaults(Backend& inner, std::span<const FaultSpec> specs, const PhaseSwitch* phase)
    : BackendWrapper(inner), phase_(phase) {
  for (const FaultSpec& spec : specs) {
    faults_.push_back({spec, Threshold(spec.rate), Random(spec.seed)});
  }
}

Status InjectFaults::Check(CallKind kind) {
  const bool in_cleanup = phase_ != nullptr && phase_->phase == Phase::kCleanup;
  const uint64_t call = ++calls_[in_cleanup ? 1 : 0][static_cast<size_t>(kind)];
  bool fails = false;
  for (Armed& fault : faults_) {
    if (fault.spec.kind == kind && fault.spec.in_cleanup == in_cleanup) {
      // Every armed rate draws on every call, so that one fault does not shift another's sequence.
      fails |= fault.spec.call != 0 ? call == fault.spec.call
                                    : fault.random.Next() < fault.threshold || fault.spec.rate >= 1;
    }
  }
  if (fails) {
    ++injected_;
    return Fail(ErrorCode::kDriver,
                fmt::format("injected fault: {} call {}{}", Name(kind), call, in_cleanup ? " of cleanup" : ""));
  }
  return {};
}

Result<Address> InjectFaults::Reserve(uint64_t size, uint64_t alignment) {
  REMAPLAB_TRY(Check(CallKind::kReserve));
  return inner_.Reserve(size, alignment);
}

Status InjectFaults::AddressFree(Address base, uint64_t size) {
  REMAPLAB_TRY(Check(CallKind::kAddressFree));
  return inner_.AddressFree(base, size);
}

Result<Memory> InjectFaults::Create(uint64_t size, int device, int32_t space, uint64_t tag) {
  REMAPLAB_TRY(Check(CallKind::kCreate));
  return inner_.Create(size, device, space, tag);
}

Status InjectFaults::Release(const Memory& memory) {
  REMAPLAB_TRY(Check(CallKind::kRelease));
  return inner_.Release(memory);
}

Status InjectFaults::Map(Address at, uint64_t size, Handle handle) {
  REMAPLAB_TRY(Check(CallKind::kMap));
  return inner_.Map(at, size, handle);
}

Status InjectFaults::Unmap(Address at, uint64_t size) {
  REMAPLAB_TRY(Check(CallKind::kUnmap));
  return inner_.Unmap(at, size);
}

Status InjectFaults::SetAccess(Address at, uint64_t size, uint32_t device) {
  REMAPLAB_TRY(Check(CallKind::kSetAccess));
  return inner_.SetAccess(at, size, device);
}

Result<Address> InjectFaults::ShadowAlloc(uint64_t size, int device, int32_t space) {
  REMAPLAB_TRY(Check(CallKind::kShadowAlloc));
  return inner_.ShadowAlloc(size, device, space);
}

Status InjectFaults::ShadowFree(Address at, uint64_t size) {
  REMAPLAB_TRY(Check(CallKind::kShadowFree));
  return inner_.ShadowFree(at, size);
}

Status InjectFaults::Copy(Address to, Address from, uint64_t size) {
  REMAPLAB_TRY(Check(CallKind::kCopy));
  return inner_.Copy(to, from, size);
}

Status InjectFaults::Record(EventId event) {
  REMAPLAB_TRY(Check(CallKind::kRecord));
  return inner_.Record(event);
}

Status InjectFaults::Wait(EventId event) {
  REMAPLAB_TRY(Check(CallKind::kWait));
  return inner_.Wait(event);
}

Result<CommandBufferId> InjectFaults::Capture(std::span<const BakedSlot> slots, uint32_t commands) {
  REMAPLAB_TRY(Check(CallKind::kCapture));
  return inner_.Capture(slots, commands);
}

Status InjectFaults::Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) {
  REMAPLAB_TRY(Check(CallKind::kUpdate));
  return inner_.Update(command_buffer, changed, commands);
}

Status InjectFaults::Launch(const LaunchSpec& launch) {
  REMAPLAB_TRY(Check(CallKind::kLaunch));
  return inner_.Launch(launch);
}

}  // namespace remaplab
