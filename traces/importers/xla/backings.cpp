#include "traces/importers/xla/backings.h"

#include <algorithm>
#include <tuple>

namespace remaplab::xla {

uint64_t Backings::Write(uint64_t address, uint64_t size, int64_t t) {
  const uint64_t id = next_id_++;
  ended_.push_back(false);
  writer_->Alloc({id, address, size, t, false});
  return id;
}

void Backings::End(const Key& key, int64_t t) {
  before_end_();  // may bind
  const auto place = backings_.find(key);
  if (place == backings_.end()) {
    return;
  }
  if (place->second.id != kNullBacking) {
    writer_->Free(place->second.id, t);
    ended_[place->second.id] = true;
    ++epoch_;
  }
  backings_.erase(place);
}

void Backings::Allocated(int32_t device, uint64_t address, uint64_t size, bool fresh, int64_t t) {
  const Key key = KeyOf(device, address, size);
  const Backing as_new = {kNullBacking, size, true, false};
  auto [place, inserted] = backings_.try_emplace(key, as_new);
  if (inserted) {
    return;
  }
  if (fresh || Rounded(place->second.size) != Rounded(size)) {
    End(key, t);
    backings_.try_emplace(key, as_new);
    return;
  }
  Backing& backing = place->second;
  if (backing.id == kNullBacking) {
    backing = as_new;
  } else if (backing.kept) {
    backing.kept = false;
    writer_->Alloc({backing.id, address, size, t, true});
  } else {
    ++missing_frees_;
  }
}

void Backings::Freed(int32_t device, uint64_t address, int64_t t) {
  const auto place = backings_.find(KeyOf(device, address, 0));
  if (place == backings_.end()) {
    unknown_frees_ += InReservation(device, address) ? 0 : 1;
    return;
  }
  // Memory in a reservation stays mapped there; its "free" is a formality that comes without an allocation.
  if (!place->second.kept && !InReservation(device, address)) {
    place->second.kept = true;
    if (place->second.id != kNullBacking) {
      writer_->DeferredFree(place->second.id, t);
    }
  }
}

void Backings::Completed(int32_t device, uint64_t address, int64_t t) {
  const Key key = KeyOf(device, address, 0);
  if (backings_.contains(key)) {
    End(key, t);
  } else {
    ++unknown_frees_;
  }
}

void Backings::Reserved(int32_t device, uint64_t address, uint64_t size) {
  const Range range = {device, address, address + std::min(size, UINT64_MAX - address)};
  std::erase_if(reserved_, [&](const Range& old) {
    return old.device == device && old.begin < range.end && range.begin < old.end;
  });
  reserved_.push_back(range);
}

bool Backings::InReservation(int32_t device, uint64_t address) const {
  return std::any_of(reserved_.begin(), reserved_.end(), [&](const Range& range) {
    return range.device == device && range.begin <= address && address < range.end;
  });
}

uint64_t Backings::Bind(int32_t device, uint64_t address, uint64_t size, int64_t t) {
  const Key key = KeyOf(device, address, size);
  const Backing as_found = {kNullBacking, size, false, false};
  auto [place, inserted] = backings_.try_emplace(key, as_found);
  if (!inserted && Rounded(size) != Rounded(place->second.size) &&
      (!place->second.listed || Rounded(size) > Rounded(place->second.size))) {
    // A buffer may be smaller than its memory, never larger; and of memory that no allocator line told of, only the
    // buffer's size is known.
    End(key, t);
    std::tie(place, inserted) = backings_.try_emplace(key, as_found);
  }
  Backing& backing = place->second;
  if (inserted && !arena_ && !InReservation(device, address)) {
    ++found_;
  }
  if (backing.id == kNullBacking) {
    backing.id = Write(address, backing.size, t);
    if (backing.kept) {
      writer_->DeferredFree(backing.id, t);
    }
  }
  return backing.id;
}

uint64_t Backings::BindUnknown(uint64_t size, int64_t t) { return Write(kUnknownAddress, size, t); }

void Backings::EndUnknown(uint64_t backing, int64_t t) {
  if (!Ended(backing)) {
    writer_->Free(backing, t);
    ended_[backing] = true;
  }
}

void Backings::EndAll(int64_t t) {
  std::vector<uint64_t> ids;
  for (const auto& [key, backing] : backings_) {
    if (backing.id != kNullBacking) {
      ids.push_back(backing.id);
    }
  }
  std::sort(ids.begin(), ids.end());
  for (const uint64_t id : ids) {
    writer_->Free(id, t);
    ended_[id] = true;
  }
  ++epoch_;
  backings_.clear();
  reserved_.clear();
}

}  // namespace remaplab::xla
