#include "backends/sim/address_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace remaplab {
namespace {

constexpr Address kReservationBase = Address{1} << 44;
constexpr Address kShadowBase = Address{1} << 54;
constexpr Address kOwnBase = Address{1} << 58;
constexpr uint64_t kShadowAlignment = 256;
constexpr uint64_t kHipCreateUnit = 2048;
constexpr int kDeviceOrdinals = 64;

std::string_view Explain(Misuse misuse) {
  switch (misuse) {
    case Misuse::kReserveSize:
      return "the size is 0 or no multiple of the granularity";
    case Misuse::kReserveAlignment:
      return "the alignment is no power of two";
    case Misuse::kReserveLargeAlignment:
      return "the alignment is above the granularity";
    case Misuse::kReserveUnevenAlignment:
      return "the alignment is no multiple of the granularity";
    case Misuse::kCreateZero:
      return "the size is 0";
    case Misuse::kCreateDevice:
    case Misuse::kAccessDevice:
      return "there is no such device";
    case Misuse::kCreateOddSize:
      return "the size is no multiple of 2048";
    case Misuse::kCreateUnalignedSize:
      return "the size is no multiple of the granularity";
    case Misuse::kMapNull:
      return "no address, no handle, or size 0";
    case Misuse::kMapOutside:
      return "the address lies in no reservation";
    case Misuse::kMapPastEnd:
      return "the range runs past the end of its reservation";
    case Misuse::kMapOverlap:
      return "something is mapped there";
    case Misuse::kMapLargerThanHandle:
      return "the handle has less memory";
    case Misuse::kMapPrefix:
      return "the handle has more memory";
    case Misuse::kMapUnaligned:
      return "address or size is no multiple of the granularity";
    case Misuse::kMapReleased:
      return "the handle's memory is gone";
    case Misuse::kMapReleasedAlive:
      return "the handle was released";
    case Misuse::kAccessNull:
    case Misuse::kFreeNull:
      return "no address or size 0";
    case Misuse::kAccessUnmapped:
      return "nothing is mapped there";
    case Misuse::kAccessPartOfChunk:
      return "the range covers part of a mapping";
    case Misuse::kAccessHole:
    case Misuse::kAccessHoleAtEnd:
    case Misuse::kUnmapHole:
      return "the range has a hole";
    case Misuse::kAccessTail:
      return "the range does not begin with the reservation's first mapping";
    case Misuse::kAccessPartForPeer:
      return "the range is not all that is mapped in the reservation, and the device is a peer";
    case Misuse::kUnmapNull:
      return "no address";
    case Misuse::kUnmapZero:
      return "size 0";
    case Misuse::kUnmapUnmapped:
      return "nothing is mapped there";
    case Misuse::kUnmapPart:
      return "the range covers part of a mapping";
    case Misuse::kUnmapInside:
      return "the range begins inside a mapping";
    case Misuse::kUnmapSeveral:
      return "the range covers several mappings";
    case Misuse::kFreeWrongSize:
      return "the reservation has another size";
    case Misuse::kFreeMapped:
      return "something is still mapped in it";
    case Misuse::kFreeUnknown:
      return "no reservation begins there";
    case Misuse::kReleaseNull:
      return "no handle";
    case Misuse::kReleaseMapped:
      return "the memory is still mapped";
    case Misuse::kReleaseTwice:
      return "it was released before";
  }
  return "";
}

constexpr uint32_t IndexOf(Handle handle) { return static_cast<uint32_t>(handle) - 1; }

}  // namespace

AddressSpace::AddressSpace(const DriverProfile& profile, uint32_t devices)
    : profile_(profile),
      devices_(devices),
      all_access_(devices >= 64 ? ~uint64_t{0} : (uint64_t{1} << devices) - 1),
      next_reservation_(kReservationBase),
      next_shadow_(kShadowBase),
      next_own_(kOwnBase) {}

Result<bool> AddressSpace::Judge(Misuse misuse, CallKind kind, Range range) const {
  const DriverVerdict verdict = profile_.On(misuse);
  const auto describe = [&] {
    const std::string what = range.at == kNullAddress ? fmt::format("{} bytes", range.size)
                                                      : fmt::format("[{:#x}, +{})", range.at, range.size);
    return fmt::format("{} of {}: {}", Name(kind), what, Explain(misuse));
  };
  switch (verdict.kind) {
    case VerdictKind::kDoes:
      return true;
    case VerdictKind::kSilent:
      return false;
    case VerdictKind::kRefuses:
      return Fail(verdict.code == 2 ? ErrorCode::kOutOfMemory : ErrorCode::kDriver,
                  fmt::format("{}: {}", describe(), DriverErrorName(profile_.hip, verdict.code)));
    case VerdictKind::kCrashes:
      return Fail(ErrorCode::kWouldCrash, fmt::format("{}: {} would crash here", describe(), profile_.name));
    case VerdictKind::kUnknown:
      break;
  }
  return Fail(ErrorCode::kUnknown, fmt::format("{}: nobody knows what {} does here", describe(), profile_.name));
}

Result<Address> AddressSpace::Reserve(uint64_t size, uint64_t alignment) {
  const uint64_t granularity = profile_.minimum_granularity;
  const Range range{kNullAddress, size};
  if (size == 0 || size % granularity != 0 || size >= kShadowBase - kReservationBase) {
    REMAPLAB_TRY(Judge(Misuse::kReserveSize, CallKind::kReserve, range));
  }
  uint64_t granted = std::max(alignment, granularity);
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    REMAPLAB_TRY(Judge(Misuse::kReserveAlignment, CallKind::kReserve, range));
  } else if (alignment > granularity) {
    REMAPLAB_ASSIGN(const bool honoured, Judge(Misuse::kReserveLargeAlignment, CallKind::kReserve, range));
    granted = honoured ? alignment : granularity;
  } else if (alignment != 0 && alignment % granularity != 0) {
    REMAPLAB_TRY(Judge(Misuse::kReserveUnevenAlignment, CallKind::kReserve, range));
  }
  if (const auto freed = freed_ranges_.find(size);
      freed != freed_ranges_.end() && !freed->second.empty() && freed->second.back() % granted == 0) {
    const Address base = freed->second.back();
    freed->second.pop_back();
    reservations_[base] = {.size = size};
    return base;
  }
  Address base = RoundUp(next_reservation_, granted);
  if (granted < alignment && base % alignment == 0) {
    base += granted;  // a driver that does not honour an alignment must not honour it by luck
  }
  next_reservation_ = base + size + granularity;  // a gap, so that neighbours never touch
  if (next_reservation_ >= kShadowBase) {
    return Fail(ErrorCode::kOutOfMemory, fmt::format("reserve of {} bytes: the address space is used up", size));
  }
  reservations_[base] = {.size = size};
  return base;
}

Status AddressSpace::AddressFree(Address base, uint64_t size) {
  const Range range{base, size};
  if (base == kNullAddress || size == 0) {
    REMAPLAB_TRY(Judge(Misuse::kFreeNull, CallKind::kAddressFree, range));
    return {};
  }
  const auto found = reservations_.find(base);
  if (found == reservations_.end() || found->second.forgotten) {
    REMAPLAB_TRY(Judge(Misuse::kFreeUnknown, CallKind::kAddressFree, range));
    return {};
  }
  if (found->second.size != size) {
    REMAPLAB_ASSIGN(const bool does, Judge(Misuse::kFreeWrongSize, CallKind::kAddressFree, range));
    if (!does) {
      return {};
    }
  }
  if (found->second.mappings != 0) {
    found->second.forgotten = profile_.On(Misuse::kFreeMapped).effect == Effect::kForgets;
    REMAPLAB_TRY(Judge(Misuse::kFreeMapped, CallKind::kAddressFree, range));
    return {};
  }
  freed_ranges_[found->second.size].push_back(base);
  reservations_.erase(found);
  return {};
}

Result<Memory> AddressSpace::Create(uint64_t size, int device, uint64_t tag) {
  const Range range{kNullAddress, size};
  std::optional<Misuse> misuse;
  if (size == 0) {
    misuse = Misuse::kCreateZero;
  } else if (device < 0 || device >= kDeviceOrdinals) {
    misuse = Misuse::kCreateDevice;
  } else if (size % kHipCreateUnit != 0) {
    misuse = Misuse::kCreateOddSize;
  } else if (size % profile_.minimum_granularity != 0) {
    misuse = Misuse::kCreateUnalignedSize;
  }
  if (misuse) {
    REMAPLAB_TRY(Judge(*misuse, CallKind::kCreate, range));
  }
  uint32_t index = 0;
  if (free_physical_.empty()) {
    index = static_cast<uint32_t>(physical_.size());
    physical_.emplace_back();
  } else {
    index = free_physical_.back();
    free_physical_.pop_back();
  }
  const Handle handle = (Handle{physical_[index].generation} << 32) | (index + 1);
  physical_[index] = {.size = size,
                      .tag = tag,
                      .own = next_own_,
                      .references = 1,
                      .generation = physical_[index].generation,
                      .owned = true};
  own_addresses_.emplace_hint(own_addresses_.end(), next_own_, handle);
  next_own_ += RoundUp(size, uint64_t{2} << 20);
  ++live_physical_;
  return Memory{.handle = handle, .address = physical_[index].own, .size = size};
}

AddressSpace::Physical* AddressSpace::Find(Handle handle) {
  const uint32_t index = IndexOf(handle);
  if (handle == kNoHandle || index >= physical_.size()) {
    return nullptr;
  }
  Physical& physical = physical_[index];
  return physical.references != 0 && physical.generation == handle >> 32 ? &physical : nullptr;
}

void AddressSpace::DropReference(Handle handle) {
  Physical& physical = *Find(handle);
  if (--physical.references == 0) {
    ++physical.generation;
    free_physical_.push_back(IndexOf(handle));
    --live_physical_;
  }
}

Status AddressSpace::Release(const Memory& memory) {
  const Range range{memory.address, memory.size};
  if (memory.handle == kNoHandle) {
    REMAPLAB_TRY(Judge(Misuse::kReleaseNull, CallKind::kRelease, range));
    return {};
  }
  Physical* physical = Find(memory.handle);
  if (physical == nullptr || !physical->owned) {
    REMAPLAB_TRY(Judge(Misuse::kReleaseTwice, CallKind::kRelease, range));
    return {};
  }
  if (physical->references > 1) {
    REMAPLAB_TRY(Judge(Misuse::kReleaseMapped, CallKind::kRelease, range));
  }
  physical->owned = false;
  own_addresses_.erase(physical->own);
  DropReference(memory.handle);
  return {};
}

AddressSpace::Reservations::iterator AddressSpace::ReservationAt(Address at) {
  auto next = reservations_.upper_bound(at);
  if (next == reservations_.begin()) {
    return reservations_.end();
  }
  --next;
  return at - next->first < next->second.size && !next->second.forgotten ? next : reservations_.end();
}

AddressSpace::Mappings::const_iterator AddressSpace::MappingOver(Address at) const {
  auto next = mappings_.upper_bound(at);
  if (next == mappings_.begin()) {
    return mappings_.end();
  }
  --next;
  return at - next->first < next->second.size ? next : mappings_.end();
}

bool AddressSpace::Overlaps(Range range) const {
  if (MappingOver(range.at) != mappings_.end()) {
    return true;
  }
  const auto next = mappings_.lower_bound(range.at);
  return next != mappings_.end() && next->first - range.at < range.size;
}

std::optional<Misuse> AddressSpace::CheckMap(Range range, Handle handle) {
  if (range.at == kNullAddress || range.size == 0 || handle == kNoHandle) {
    return Misuse::kMapNull;
  }
  const Physical* physical = Find(handle);
  if (physical == nullptr) {
    return Misuse::kMapReleased;
  }
  const auto reservation = ReservationAt(range.at);
  if (reservation == reservations_.end()) {
    return Misuse::kMapOutside;
  }
  if (range.at % profile_.minimum_granularity != 0 || range.size % profile_.minimum_granularity != 0) {
    return Misuse::kMapUnaligned;
  }
  if (range.size > reservation->second.size - (range.at - reservation->first)) {
    return Misuse::kMapPastEnd;
  }
  if (Overlaps(range)) {
    return Misuse::kMapOverlap;
  }
  if (range.size > physical->size) {
    return Misuse::kMapLargerThanHandle;
  }
  if (!physical->owned) {
    return Misuse::kMapReleasedAlive;
  }
  return range.size < physical->size ? std::optional(Misuse::kMapPrefix) : std::nullopt;
}

Result<WorkDone> AddressSpace::Map(Address at, uint64_t size, Handle handle) {
  Range range{at, size};
  if (!profile_.sub_range_mapping && size != 0) {
    if (const auto reservation = ReservationAt(at); reservation != reservations_.end()) {
      range = {reservation->first, reservation->second.size};
    }
  }
  if (const std::optional<Misuse> misuse = CheckMap(range, handle)) {
    if (profile_.On(*misuse).effect == Effect::kLeaksReference) {
      ++Find(handle)->references;
    }
    REMAPLAB_ASSIGN(const bool does, Judge(*misuse, CallKind::kMap, range));
    if (!does) {
      return WorkDone{};
    }
  }
  ++Find(handle)->references;
  AddMapping(ReservationAt(range.at), range, handle);
  return WorkDone{.bytes = range.size, .chunks = 1, .chunk_devices = devices_, .devices = devices_};
}

std::optional<Misuse> AddressSpace::CheckUnmap(Range range) const {
  if (range.at == kNullAddress) {
    return Misuse::kUnmapNull;
  }
  if (range.size == 0) {
    return Misuse::kUnmapZero;
  }
  auto mapping = MappingOver(range.at);
  if (mapping == mappings_.end() || mapping->second.forgotten) {
    return Misuse::kUnmapUnmapped;
  }
  if (mapping->first != range.at) {
    return Misuse::kUnmapInside;
  }
  uint64_t left = range.size;
  uint64_t chunks = 0;
  for (Address at = range.at; left != 0; ++mapping, ++chunks) {
    if (mapping == mappings_.end() || mapping->first != at) {
      return Misuse::kUnmapHole;
    }
    if (mapping->second.size > left) {
      return Misuse::kUnmapPart;
    }
    at += mapping->second.size;
    left -= mapping->second.size;
  }
  return chunks > 1 ? std::optional(Misuse::kUnmapSeveral) : std::nullopt;
}

AddressSpace::Range AddressSpace::WholeMappings(Range range, Effect effect) const {
  Address begin = range.at;
  Address end = range.at + range.size;
  const auto first = MappingOver(begin);
  const auto last = MappingOver(end - 1);
  if (effect == Effect::kCoveredOnly) {
    if (first != mappings_.end() && first->first != begin) {
      begin = first->first + first->second.size;
    }
    if (last != mappings_.end() && last->first + last->second.size != end) {
      end = last->first;
    }
    return {begin, begin < end ? end - begin : 0};
  }
  if (first != mappings_.end()) {
    begin = first->first;
  }
  if (last != mappings_.end()) {
    end = last->first + last->second.size;
  }
  return {begin, end - begin};
}

void AddressSpace::Forget(Address at) {
  if (const auto mapping = MappingOver(at); mapping != mappings_.end()) {
    mappings_.at(mapping->first).forgotten = true;
  }
}

Result<WorkDone> AddressSpace::Unmap(Address at, uint64_t size) {
  Range range{at, size};
  if (const std::optional<Misuse> misuse = CheckUnmap(range)) {
    REMAPLAB_ASSIGN(const bool does, Judge(*misuse, CallKind::kUnmap, range));
    if (!does) {
      if (profile_.On(*misuse).effect == Effect::kForgets) {
        Forget(at);
      }
      return WorkDone{};
    }
    range = WholeMappings(range, profile_.On(*misuse).effect);
  }
  WorkDone work;
  uint64_t seen = 0;
  const auto first = mappings_.lower_bound(range.at);
  const auto end = mappings_.lower_bound(range.at + range.size);
  for (auto mapping = first; mapping != end; ++mapping) {
    // Whatever runtimes forget, the reservation underneath counts what is mapped in it.
    const auto owner = std::prev(reservations_.upper_bound(mapping->first));
    --owner->second.mappings;
    owner->second.mapped_bytes -= mapping->second.size;
    owner->second.overhanging -= mapping->second.size > owner->second.size - (mapping->first - owner->first) ? 1 : 0;
    ++work.chunks;
    work.bytes += mapping->second.size;
    work.chunk_devices += static_cast<uint64_t>(std::popcount(mapping->second.access));
    seen |= mapping->second.access;
    DropReference(mapping->second.handle);
  }
  mappings_.erase(first, end);
  work.devices = static_cast<uint32_t>(std::popcount(seen));
  return work;
}

std::optional<Misuse> AddressSpace::CheckSetAccess(Range range, uint32_t device) {
  if (range.at == kNullAddress || range.size == 0) {
    return Misuse::kAccessNull;
  }
  if (device >= devices_) {
    return Misuse::kAccessDevice;
  }
  auto mapping = MappingOver(range.at);
  const auto reservation = ReservationAt(range.at);
  if (mapping == mappings_.end() || mapping->second.forgotten || reservation == reservations_.end()) {
    return Misuse::kAccessUnmapped;
  }
  if (range.at == reservation->first && IsWhole(range, reservation->second)) {
    return std::nullopt;
  }
  const bool begins_inside = mapping->first != range.at;
  const Address end = range.at + range.size;
  Address covered = mapping->first;
  for (; covered < end; ++mapping) {
    if (mapping == mappings_.end() || mapping->first != covered) {
      return mapping == mappings_.end() || mapping->first >= end ? Misuse::kAccessHoleAtEnd : Misuse::kAccessHole;
    }
    covered += mapping->second.size;
  }
  if (begins_inside || covered != end) {
    return Misuse::kAccessPartOfChunk;
  }
  const bool from_first = mappings_.lower_bound(reservation->first)->first == range.at;
  const bool to_last = mapping == mappings_.end() || mapping->first >= reservation->first + reservation->second.size;
  if (device != 0 && !(from_first && to_last)) {
    return Misuse::kAccessPartForPeer;
  }
  return from_first ? std::nullopt : std::optional(Misuse::kAccessTail);
}

bool AddressSpace::Lacks(Address at) const {
  const auto mapping = mappings_.find(at);
  return mapping != mappings_.end() && mapping->second.access != all_access_;
}

void AddressSpace::AddMapping(Reservations::iterator reservation, Range range, Handle handle) {
  mappings_.emplace(range.at, Mapping{.size = range.size, .handle = handle});
  auto& [base, state] = *reservation;
  ++state.mappings;
  state.mapped_bytes += range.size;
  state.overhanging += range.size > state.size - (range.at - base) ? 1 : 0;
  state.lacking.push_back(range.at);
  if (state.lacking.size() > 2 * state.mappings + 64) {  // access is given part by part: nobody else tidies up
    std::sort(state.lacking.begin(), state.lacking.end());
    state.lacking.erase(std::unique(state.lacking.begin(), state.lacking.end()), state.lacking.end());
    std::erase_if(state.lacking, [&](Address at) { return !Lacks(at); });
  }
}

// Whether the range, which begins with the reservation, is all of it and is mapped without a hole.
bool AddressSpace::IsWhole(Range range, const Reservation& reservation) const {
  return range.size == reservation.size && reservation.mapped_bytes == reservation.size && reservation.overhanging == 0;
}

// What remapping engines do on every step: work in proportion to what is new, not to what is there.
WorkDone AddressSpace::GrantWhole(Reservation& reservation, uint64_t bit) {
  WorkDone work{.devices = 1};
  for (const Address at : reservation.lacking) {
    const auto mapping = mappings_.find(at);
    if (mapping != mappings_.end() && (mapping->second.access & bit) == 0) {
      mapping->second.access |= bit;
      ++work.chunks;
      work.bytes += mapping->second.size;
    }
  }
  std::erase_if(reservation.lacking, [&](Address at) { return !Lacks(at); });
  work.unchanged_chunks = reservation.mappings - work.chunks;
  work.chunk_devices = work.chunks;
  return work;
}

Result<WorkDone> AddressSpace::SetAccess(Address at, uint64_t size, uint32_t device) {
  Range range{at, size};
  if (const std::optional<Misuse> misuse = CheckSetAccess(range, device)) {
    REMAPLAB_ASSIGN(const bool does, Judge(*misuse, CallKind::kSetAccess, range));
    if (!does) {
      return WorkDone{};
    }
    range = WholeMappings(range, profile_.On(*misuse).effect);
  }
  const uint64_t bit = uint64_t{1} << device;
  if (const auto reservation = reservations_.find(range.at);
      reservation != reservations_.end() && IsWhole(range, reservation->second)) {
    return GrantWhole(reservation->second, bit);
  }
  WorkDone work{.devices = 1};
  const auto end = mappings_.lower_bound(range.at + range.size);
  for (auto mapping = mappings_.lower_bound(range.at); mapping != end; ++mapping) {
    if ((mapping->second.access & bit) != 0) {
      ++work.unchanged_chunks;
    } else {
      mapping->second.access |= bit;
      ++work.chunks;
      work.bytes += mapping->second.size;
    }
  }
  work.chunk_devices = work.chunks;
  return work;
}

Result<Address> AddressSpace::ShadowAlloc(uint64_t size, int device) {
  if (size == 0 || device < 0 || device >= kDeviceOrdinals) {
    return Fail(ErrorCode::kDriver, fmt::format("shadow_alloc of {} bytes on device {}: {}", size, device,
                                                size == 0 ? "the size is 0" : "there is no such device"));
  }
  const Address at = next_shadow_;
  next_shadow_ = at + RoundUp(size, kShadowAlignment);
  shadows_.emplace_hint(shadows_.end(), at, Shadow{.size = size});
  return at;
}

Status AddressSpace::ShadowFree(Address at, uint64_t size) {
  const auto shadow = shadows_.find(at);
  if (shadow == shadows_.end() || shadow->second.size != size) {
    return Fail(ErrorCode::kDriver,
                fmt::format("shadow_free of [{:#x}, +{}): no shadow of that address and size", at, size));
  }
  shadows_.erase(shadow);
  return {};
}

uint64_t* AddressSpace::TagAt(Address at) {
  if (at >= kOwnBase) {
    const auto own = own_addresses_.find(at);
    return own == own_addresses_.end() ? nullptr : &Find(own->second)->tag;
  }
  if (at >= kShadowBase) {
    const auto shadow = shadows_.find(at);
    return shadow == shadows_.end() ? nullptr : &shadow->second.tag;
  }
  const auto mapping = mappings_.find(at);
  return mapping == mappings_.end() || mapping->second.access != all_access_ ? nullptr
                                                                             : &Find(mapping->second.handle)->tag;
}

bool AddressSpace::Reachable(Address at, uint64_t size) const {
  const auto within = [&](Address begin, uint64_t extent) {
    return at - begin < extent && size <= extent - (at - begin);
  };
  if (at >= kOwnBase) {
    const auto next = own_addresses_.upper_bound(at);
    if (next == own_addresses_.begin()) {
      return false;
    }
    const auto own = std::prev(next);
    return within(own->first, physical_[IndexOf(own->second)].size);
  }
  if (at >= kShadowBase) {
    const auto next = shadows_.upper_bound(at);
    return next != shadows_.begin() && within(std::prev(next)->first, std::prev(next)->second.size);
  }
  const auto mapping = MappingOver(at);
  return mapping != mappings_.end() && mapping->second.access == all_access_ &&
         within(mapping->first, mapping->second.size);
}

uint64_t* AddressSpace::TagOf(Handle handle) {
  Physical* physical = Find(handle);
  return physical == nullptr ? nullptr : &physical->tag;
}

void AddressSpace::Count(Outstanding& outstanding) const {
  outstanding.reservations = reservations_.size();
  outstanding.handles = live_physical_;
  outstanding.mappings = mappings_.size();
  outstanding.shadows = shadows_.size();
}

}  // namespace remaplab
