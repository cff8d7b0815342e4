// Backing ids of a file -> dense numbers in order of first alloc. Ids that simply count up, as most writers' do, cost
// no memory; others go through a hash table of dense numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace remaplab {

class BackingIds {
 public:
  std::optional<uint32_t> Find(uint64_t id) const;
  uint32_t Add(uint64_t id);  // `id` must be new

  size_t size() const { return ids_.size(); }
  uint64_t id(uint32_t dense) const { return ids_[dense]; }
  std::vector<uint64_t> TakeIds() && { return std::move(ids_); }

 private:
  static constexpr uint32_t kEmpty = 0xffffffff;

  size_t Place(uint64_t id) const;  // where `id` is, or the empty place where it belongs
  void Grow();

  std::vector<uint64_t> ids_;
  bool counting_ = true;         // ids_[n] == ids_[0] + n
  std::vector<uint32_t> table_;  // open addressing; a power of two, at most half full; unused while counting_
};

}  // namespace remaplab
