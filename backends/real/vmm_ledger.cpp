#include "backends/real/vmm_ledger.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>

namespace remaplab {
namespace {

// The entry of an address-keyed map that starts at or before `at`, or end().
template <typename Map>
typename Map::const_iterator AtOrBefore(const Map& map, Address at) {
  auto it = map.upper_bound(at);
  return it == map.begin() ? map.end() : std::prev(it);
}

bool Overflows(Address at, uint64_t size) { return at + size < at; }

}  // namespace

tl::unexpected<Error> Refused(std::string_view call, Address at, uint64_t size, std::string_view reason,
                              ErrorCode code) {
  return Fail(code, fmt::format("{}({:#x}, {}): {}", call, at, size, reason));
}

Status VmmLedger::CheckReserve(uint64_t size, uint64_t alignment) const {
  if (size == 0 || size % granularity_ != 0) {
    return Fail(ErrorCode::kDriver,
                fmt::format("reserve({}): the size is no multiple of the granularity {}", size, granularity_));
  }
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    return Fail(ErrorCode::kDriver, fmt::format("reserve({}): alignment {} is no power of two", size, alignment));
  }
  return {};
}

Status VmmLedger::CheckAddressFree(Address base, uint64_t size) const {
  auto it = reservations_.find(base);
  if (it == reservations_.end()) return Refused("address_free", base, size, "no reservation starts here");
  if (it->second != size) {
    return Refused("address_free", base, size, fmt::format("the reservation has {} bytes", it->second));
  }
  auto mapping = mappings_.lower_bound(base);
  if (mapping != mappings_.end() && mapping->first - base < size) {
    return Refused("address_free", base, size, fmt::format("still mapped at {:#x}", mapping->first));
  }
  return {};
}

Status VmmLedger::CheckCreate(uint64_t size, int device) const {
  if (size == 0 || size % granularity_ != 0) {
    return Fail(ErrorCode::kDriver,
                fmt::format("create({}): the size is no multiple of the granularity {}", size, granularity_));
  }
  if (device < 0 || static_cast<uint32_t>(device) >= devices_) {
    return Fail(ErrorCode::kDriver, fmt::format("create({}): no device {}, there are {}", size, device, devices_));
  }
  return {};
}

Handle VmmLedger::Created(uint64_t size, Address address) {
  const Handle handle = next_handle_++;
  physical_.emplace(handle, Physical{size, address, 0, true});
  views_.emplace(address, handle);
  ++owned_handles_;
  ++generation_;
  return handle;
}

Status VmmLedger::CheckRelease(const Memory& memory) const {
  auto it = physical_.find(memory.handle);
  if (it == physical_.end() || !it->second.owned) {
    return Refused("release", memory.address, memory.size,
                   fmt::format("handle {} is unknown or already released", memory.handle));
  }
  if (it->second.address != memory.address || it->second.size != memory.size) {
    return Refused("release", memory.address, memory.size,
                   fmt::format("handle {} has {} bytes at {:#x}", memory.handle, it->second.size, it->second.address));
  }
  return {};
}

bool VmmLedger::Released(Handle handle) {
  auto it = physical_.find(handle);
  views_.erase(it->second.address);
  it->second.owned = false;
  --owned_handles_;
  ++generation_;
  if (it->second.uses > 0) return false;
  physical_.erase(it);
  return true;
}

Status VmmLedger::CheckMap(Address at, uint64_t size, Handle handle) const {
  if (size == 0 || size % granularity_ != 0 || at % granularity_ != 0) {
    return Refused("map", at, size, fmt::format("address or size is no multiple of the granularity {}", granularity_));
  }
  auto it = physical_.find(handle);
  if (it == physical_.end() || !it->second.owned) {
    return Refused("map", at, size, fmt::format("handle {} is unknown or released", handle));
  }
  if (size > it->second.size) {
    return Refused("map", at, size, fmt::format("handle {} has {} bytes", handle, it->second.size));
  }
  if (ReservationOf(at, size).second == 0) return Refused("map", at, size, "not inside one reservation");
  auto next = mappings_.lower_bound(at);
  if (next != mappings_.end() && next->first - at < size) {
    return Refused("map", at, size, fmt::format("already mapped at {:#x}", next->first));
  }
  auto before = AtOrBefore(mappings_, at);
  if (before != mappings_.end() && at - before->first < before->second.size) {
    return Refused("map", at, size, fmt::format("already mapped at {:#x}", before->first));
  }
  return {};
}

void VmmLedger::Mapped(Address at, uint64_t size, Handle handle) {
  mappings_.emplace(at, Mapping{at, size, handle, 0});
  ++physical_.find(handle)->second.uses;
  ++generation_;
}

Status VmmLedger::CheckWholeMappings(std::string_view call, Address at, uint64_t size) const {
  if (size == 0 || Overflows(at, size)) return Refused(call, at, size, "an empty range");
  auto it = mappings_.find(at);
  if (it == mappings_.end()) return Refused(call, at, size, "no mapping starts here");
  if (ReservationOf(at, size).second == 0) return Refused(call, at, size, "not inside one reservation");
  const Address end = at + size;
  Address reached = at;
  for (; it != mappings_.end() && it->first == reached && reached < end; ++it) reached += it->second.size;
  if (reached < end) return Refused(call, at, size, fmt::format("nothing is mapped at {:#x}", reached));
  if (reached > end) return Refused(call, at, size, "ends inside a mapping");
  return {};
}

Status VmmLedger::CheckUnmap(Address at, uint64_t size) const { return CheckWholeMappings("unmap", at, size); }

void VmmLedger::Unmapped(Address at, uint64_t size, std::vector<Handle>& dead) {
  ++generation_;
  auto it = mappings_.find(at);
  while (it != mappings_.end() && it->first - at < size) {
    auto physical = physical_.find(it->second.handle);
    if (--physical->second.uses == 0 && !physical->second.owned) {
      dead.push_back(physical->first);
      physical_.erase(physical);
    }
    it = mappings_.erase(it);
  }
}

Status VmmLedger::CheckAccess(Address at, uint64_t size, uint32_t device) const {
  if (device >= devices_) {
    return Refused("set_access", at, size, fmt::format("no device {}, there are {}", device, devices_));
  }
  return CheckWholeMappings("set_access", at, size);
}

void VmmLedger::AccessGiven(Address at, uint64_t size, uint32_t device) {
  ++generation_;
  for (auto it = mappings_.find(at); it != mappings_.end() && it->first - at < size; ++it) {
    it->second.access |= uint64_t{1} << device;
  }
}

Status VmmLedger::CheckShadowAlloc(uint64_t size, int device) const {
  if (size == 0) return Fail(ErrorCode::kDriver, "shadow_alloc(0): an empty buffer");
  if (device < 0 || static_cast<uint32_t>(device) >= devices_) {
    return Fail(ErrorCode::kDriver,
                fmt::format("shadow_alloc({}): no device {}, there are {}", size, device, devices_));
  }
  return {};
}

void VmmLedger::ShadowAllocated(Address at, uint64_t size) {
  shadows_.emplace(at, size);
  ++generation_;
}

void VmmLedger::ShadowFreed(Address at) {
  shadows_.erase(at);
  ++generation_;
}

Status VmmLedger::CheckShadowFree(Address at, uint64_t size) const {
  auto it = shadows_.find(at);
  if (it == shadows_.end()) return Refused("shadow_free", at, size, "no shadow starts here");
  if (it->second != size) {
    return Refused("shadow_free", at, size, fmt::format("the shadow has {} bytes", it->second));
  }
  return {};
}

Address VmmLedger::ReachableEnd(Address at) const {
  if (auto it = AtOrBefore(mappings_, at); it != mappings_.end() && at - it->first < it->second.size) {
    return (it->second.access & 1) != 0 ? it->first + it->second.size : at;
  }
  if (auto it = AtOrBefore(views_, at); it != views_.end()) {
    const uint64_t size = physical_.find(it->second)->second.size;
    if (at - it->first < size) return it->first + size;
  }
  if (auto it = AtOrBefore(shadows_, at); it != shadows_.end() && at - it->first < it->second) {
    return it->first + it->second;
  }
  return at;
}

bool VmmLedger::Reachable(Address at, uint64_t size) const {
  if (Overflows(at, size)) return false;
  const Address end = at + size;
  for (Address reached = at; reached < end;) {
    const Address next = ReachableEnd(reached);
    if (next == reached) return false;
    reached = next;
  }
  return true;
}

Status VmmLedger::CheckReachable(std::string_view call, Address at, uint64_t size) const {
  if (Reachable(at, size)) return {};
  return Refused(call, at, size, "the device cannot reach all of it");
}

VmmLedger::Place VmmLedger::Resolve(Address at) const {
  if (auto it = AtOrBefore(mappings_, at); it != mappings_.end() && at - it->first < it->second.size) {
    return (it->second.access & 1) != 0 ? Place{it->second.handle, kNullAddress, at - it->first} : Place{};
  }
  if (auto it = AtOrBefore(views_, at);
      it != views_.end() && at - it->first < physical_.find(it->second)->second.size) {
    return Place{it->second, kNullAddress, at - it->first};
  }
  if (auto it = AtOrBefore(shadows_, at); it != shadows_.end() && at - it->first < it->second) {
    return Place{kNoHandle, it->first, at - it->first};
  }
  return {};
}

std::vector<std::pair<Address, uint64_t>> VmmLedger::views() const {
  std::vector<std::pair<Address, uint64_t>> result;
  for (const auto& [at, handle] : views_) result.emplace_back(at, physical_.find(handle)->second.size);
  return result;
}

std::pair<Address, uint64_t> VmmLedger::ReservationOf(Address at, uint64_t size) const {
  auto it = AtOrBefore(reservations_, at);
  if (it == reservations_.end() || size > it->second || at - it->first > it->second - size) return {};
  return *it;
}

Outstanding VmmLedger::outstanding() const {
  Outstanding result;
  result.reservations = reservations_.size();
  result.handles = owned_handles_;
  result.mappings = mappings_.size();
  result.shadows = shadows_.size();
  return result;
}

}  // namespace remaplab
