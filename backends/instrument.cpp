#include "backends/instrument.h"

namespace remaplab {

template <typename Call, typename Describe>
auto Instrument::Timed(CallKind kind, Call&& call, Describe&& describe) {
  const int64_t start = inner_.now();
  auto result = call();
  const int64_t end = inner_.now();

  const bool allocator = kind == CallKind::kCreate || kind == CallKind::kRelease;
  const Phase phase = allocator ? Phase::kAllocator : phase_ == nullptr ? Phase::kSteps : phase_->phase;
  Counters& counters = counters_[static_cast<size_t>(phase)];
  CallStats& stats = counters.fresh[static_cast<size_t>(kind)];
  ++stats.calls;
  stats.failures += result ? 0 : 1;
  stats.ns += end - start;
  counters.touched |= uint32_t{1} << static_cast<uint32_t>(kind);

  if (listener_ != nullptr) [[unlikely]] {
    CallRecord record;
    record.kind = kind;
    record.phase = phase;
    record.start = start;
    record.end = end;
    record.error = result ? nullptr : &result.error();
    describe(record, result);
    listener_->OnCall(record);
  }
  return result;
}

CallTable Instrument::Totals(Phase phase) const {
  const Counters& counters = counters_[static_cast<size_t>(phase)];
  CallTable totals = counters.drained;
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    totals[kind] += counters.fresh[kind];
  }
  return totals;
}

Result<Address> Instrument::Reserve(uint64_t size, uint64_t alignment) {
  return Timed(
      CallKind::kReserve, [&] { return inner_.Reserve(size, alignment); },
      [&](CallRecord& record, const Result<Address>& result) {
        record.address = result.value_or(kNullAddress);
        record.size = size;
      });
}

Status Instrument::AddressFree(Address base, uint64_t size) {
  return Timed(
      CallKind::kAddressFree, [&] { return inner_.AddressFree(base, size); },
      [&](CallRecord& record, const Status&) {
        record.address = base;
        record.size = size;
      });
}

Result<Memory> Instrument::Create(uint64_t size, int device, int32_t space, uint64_t tag) {
  return Timed(
      CallKind::kCreate, [&] { return inner_.Create(size, device, space, tag); },
      [&](CallRecord& record, const Result<Memory>& result) {
        record.size = size;
        record.device = device;
        if (result) {
          record.address = result->address;
          record.handle = result->handle;
        }
      });
}

Status Instrument::Release(const Memory& memory) {
  return Timed(
      CallKind::kRelease, [&] { return inner_.Release(memory); },
      [&](CallRecord& record, const Status&) {
        record.address = memory.address;
        record.handle = memory.handle;
        record.size = memory.size;
      });
}

Status Instrument::Map(Address at, uint64_t size, Handle handle) {
  return Timed(
      CallKind::kMap, [&] { return inner_.Map(at, size, handle); },
      [&](CallRecord& record, const Status&) {
        record.address = at;
        record.size = size;
        record.handle = handle;
      });
}

Status Instrument::Unmap(Address at, uint64_t size) {
  return Timed(
      CallKind::kUnmap, [&] { return inner_.Unmap(at, size); },
      [&](CallRecord& record, const Status&) {
        record.address = at;
        record.size = size;
      });
}

Status Instrument::SetAccess(Address at, uint64_t size, uint32_t device) {
  return Timed(
      CallKind::kSetAccess, [&] { return inner_.SetAccess(at, size, device); },
      [&](CallRecord& record, const Status&) {
        record.address = at;
        record.size = size;
        record.device = device;
      });
}

Result<Address> Instrument::ShadowAlloc(uint64_t size, int device, int32_t space) {
  return Timed(
      CallKind::kShadowAlloc, [&] { return inner_.ShadowAlloc(size, device, space); },
      [&](CallRecord& record, const Result<Address>& result) {
        record.address = result.value_or(kNullAddress);
        record.size = size;
        record.device = device;
      });
}

Status Instrument::ShadowFree(Address at, uint64_t size) {
  return Timed(
      CallKind::kShadowFree, [&] { return inner_.ShadowFree(at, size); },
      [&](CallRecord& record, const Status&) {
        record.address = at;
        record.size = size;
      });
}

Status Instrument::Copy(Address to, Address from, uint64_t size) {
  return Timed(
      CallKind::kCopy, [&] { return inner_.Copy(to, from, size); },
      [&](CallRecord& record, const Status&) {
        record.address = to;
        record.source = from;
        record.size = size;
      });
}

Status Instrument::Record(EventId event) {
  return Timed(
      CallKind::kRecord, [&] { return inner_.Record(event); }, [](CallRecord&, const Status&) {});
}

Status Instrument::Wait(EventId event) {
  return Timed(
      CallKind::kWait, [&] { return inner_.Wait(event); }, [](CallRecord&, const Status&) {});
}

Result<CommandBufferId> Instrument::Capture(std::span<const BakedSlot> slots, uint32_t commands) {
  return Timed(
      CallKind::kCapture, [&] { return inner_.Capture(slots, commands); },
      [&](CallRecord& record, const Result<CommandBufferId>&) { record.count = static_cast<uint32_t>(slots.size()); });
}

Status Instrument::Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) {
  return Timed(
      CallKind::kUpdate, [&] { return inner_.Update(command_buffer, changed, commands); },
      [&](CallRecord& record, const Status&) { record.count = static_cast<uint32_t>(changed.size()); });
}

Status Instrument::Launch(const LaunchSpec& launch) {
  return Timed(
      CallKind::kLaunch, [&] { return inner_.Launch(launch); }, [](CallRecord&, const Status&) {});
}

}  // namespace remaplab
