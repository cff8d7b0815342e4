#include "traces/backing_ids.h"

namespace remaplab {

size_t BackingIds::Place(uint64_t id) const {
  // Multiplication by an odd constant spreads ids that differ in few bits over the high half.
  const size_t mask = table_.size() - 1;
  size_t place = ((id * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (table_[place] != kEmpty && ids_[table_[place]] != id) {
    place = (place + 1) & mask;
  }
  return place;
}

std::optional<uint32_t> BackingIds::Find(uint64_t id) const {
  if (counting_) {
    const uint64_t offset = ids_.empty() ? 0 : id - ids_[0];  // wraps to something large for smaller ids
    return offset < ids_.size() ? std::optional(static_cast<uint32_t>(offset)) : std::nullopt;
  }
  const uint32_t dense = table_[Place(id)];
  return dense == kEmpty ? std::nullopt : std::optional(dense);
}

void BackingIds::Grow() {
  table_.assign(table_.empty() ? 1024 : table_.size() * 2, kEmpty);
  while (table_.size() < ids_.size() * 4) {
    table_.assign(table_.size() * 2, kEmpty);
  }
  for (size_t dense = 0; dense < ids_.size(); ++dense) {
    table_[Place(ids_[dense])] = static_cast<uint32_t>(dense);
  }
}

uint32_t BackingIds::Add(uint64_t id) {
  const auto dense = static_cast<uint32_t>(ids_.size());
  if (counting_ && dense > 0 && id != ids_[0] + dense) {
    counting_ = false;
    Grow();
  }
  if (!counting_) {
    if ((ids_.size() + 1) * 2 > table_.size()) {
      Grow();
    }
    table_[Place(id)] = dense;
  }
  ids_.push_back(id);
  return dense;
}

}  // namespace remaplab
