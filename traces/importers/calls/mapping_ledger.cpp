#include "traces/importers/calls/mapping_ledger.h"

#include <algorithm>
#include <iterator>

namespace remaplab::calls {
namespace {

constexpr uint64_t kUnknown = DriverCall::kUnknown;

bool KnowsRange(const DriverCall& call) {
  return call.address != kUnknown && call.size != kUnknown && call.size > 0 && call.address <= kUnknown - call.size;
}

}  // namespace

void MappingLedger::See(DriverCall& call) {
  if (call.outcome == CallOutcome::kFailed) {
    return;
  }
  switch (call.kind) {
    case CallKind::kReserve:
      if (call.size != kUnknown && call.address != kUnknown) {
        placed_.emplace(call.address, &call);
      } else if (call.size != kUnknown) {
        nameless_.push_back(&call);
      }
      break;
    case CallKind::kAddressFree:
      FreeReservation(call);
      break;
    case CallKind::kMap:
      Map(call);
      break;
    case CallKind::kUnmap:
      Unmap(call);
      break;
    case CallKind::kSetAccess:
      SetAccess(call);
      break;
    default:
      break;
  }
}

void MappingLedger::Map(DriverCall& call) {
  call.chunks = 1;
  if (!KnowsRange(call)) {
    return;
  }
  PlaceReservation(call.address, call.size);
  // An overlap means that an unmap was not seen; what it unmapped is not known any more.
  const auto end = mappings_.lower_bound(call.address + call.size);
  auto begin = mappings_.lower_bound(call.address);
  if (begin != mappings_.begin()) {
    const auto before = std::prev(begin);
    if (before->first + before->second.size > call.address) {
      begin = before;
    }
  }
  mappings_.erase(begin, end);
  mappings_[call.address] = {call.size, 0};
}

std::optional<MappingLedger::Covered> MappingLedger::Cover(uint64_t address, uint64_t size) {
  const auto begin = mappings_.find(address);
  uint64_t next = address;
  uint32_t count = 0;
  auto end = begin;
  while (end != mappings_.end() && end->first == next && next - address < size) {
    next += end->second.size;
    ++count;
    ++end;
  }
  if (next - address != size) {
    return std::nullopt;
  }
  return Covered{begin, end, count};
}

void MappingLedger::Unmap(DriverCall& call) {
  if (!KnowsRange(call)) {
    mappings_.clear();
    return;
  }
  const std::optional<Covered> covered = Cover(call.address, call.size);
  if (!covered) {
    mappings_.erase(mappings_.lower_bound(call.address), mappings_.lower_bound(call.address + call.size));
    return;
  }
  call.chunks = covered->count;
  call.devices = covered->begin->second.devices;
  mappings_.erase(covered->begin, covered->end);
}

void MappingLedger::SetAccess(DriverCall& call) {
  if (!KnowsRange(call)) {
    return;
  }
  const std::optional<Covered> covered = Cover(call.address, call.size);
  if (!covered) {
    return;
  }
  call.chunks = covered->count;
  for (auto mapping = covered->begin; mapping != covered->end; ++mapping) {
    mapping->second.devices = call.devices;
  }
}

std::multimap<uint64_t, DriverCall*>::iterator MappingLedger::FindReservation(uint64_t address) {
  const auto after = placed_.upper_bound(address);
  if (after != placed_.begin()) {
    const auto before = std::prev(after);
    if (address - before->first < before->second->size) {
      return before;
    }
  }
  const bool may_begin_lower =
      after != placed_.end() && after->second->address_presumed && after->first - address < after->second->size;
  return may_begin_lower ? after : placed_.end();
}

// A map must lie in a reservation. When none of known address holds it and exactly one of unknown address is large
// enough, it is in that one.
void MappingLedger::PlaceReservation(uint64_t address, uint64_t size) {
  const auto found = FindReservation(address);
  DriverCall* reserve = nullptr;
  if (found != placed_.end()) {
    if (found->first <= address) {
      return;
    }
    reserve = found->second;
    placed_.erase(found);
  } else {
    const auto fits = [size](const DriverCall* candidate) { return size <= candidate->size; };
    const auto first = std::find_if(nameless_.begin(), nameless_.end(), fits);
    if (first == nameless_.end() || std::any_of(std::next(first), nameless_.end(), fits)) {
      return;
    }
    reserve = *first;
    nameless_.erase(first);
  }
  reserve->address = address;
  reserve->address_presumed = true;
  placed_.emplace(address, reserve);
}

// The address that is freed is the one that was reserved, which settles what was presumed. A reservation that nothing
// was mapped in is told by its size, when only one has it.
void MappingLedger::FreeReservation(const DriverCall& call) {
  if (!KnowsRange(call)) {
    return;
  }
  DriverCall* reserve = nullptr;
  const auto found = FindReservation(call.address);
  if (found != placed_.end()) {
    const bool contradicts = found->first < call.address || found->second->size != call.size;
    if (contradicts) {
      return;
    }
    reserve = found->second;
    placed_.erase(found);
  } else {
    const auto same = [&call](const DriverCall* candidate) { return candidate->size == call.size; };
    const auto first = std::find_if(nameless_.begin(), nameless_.end(), same);
    if (first == nameless_.end() || std::any_of(std::next(first), nameless_.end(), same)) {
      return;
    }
    reserve = *first;
    nameless_.erase(first);
  }
  reserve->address = call.address;
  reserve->address_presumed = false;
}

}  // namespace remaplab::calls
