// A set of small integers with constant-time insert, erase and clear, iterated in insertion order; no allocation after
// Resize. The engine keeps "which slots differ" in it, so that a step in which nothing changed costs nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace remaplab {

class SparseSet {
 public:
  // Empties the set and makes room for members below `limit`.
  void Resize(size_t limit) {
    position_.assign(limit, kAbsent);
    members_.clear();
    members_.reserve(limit);
  }

  bool Contains(uint32_t member) const { return position_[member] != kAbsent; }

  void Insert(uint32_t member) {
    if (!Contains(member)) {
      position_[member] = static_cast<uint32_t>(members_.size());
      members_.push_back(member);
    }
  }

  void Erase(uint32_t member) {
    const uint32_t at = position_[member];
    if (at == kAbsent) {
      return;
    }
    const uint32_t last = members_.back();
    members_[at] = last;
    position_[last] = at;
    members_.pop_back();
    position_[member] = kAbsent;
  }

  void Assign(uint32_t member, bool present) { present ? Insert(member) : Erase(member); }

  void Clear() {
    for (const uint32_t member : members_) {
      position_[member] = kAbsent;
    }
    members_.clear();
  }

  // Members in ascending order from here on, until the next change.
  std::span<const uint32_t> Sorted() {
    if (!std::is_sorted(members_.begin(), members_.end())) {
      std::sort(members_.begin(), members_.end());
      for (size_t i = 0; i < members_.size(); ++i) {
        position_[members_[i]] = static_cast<uint32_t>(i);
      }
    }
    return members_;
  }

  std::span<const uint32_t> members() const { return members_; }
  size_t size() const { return members_.size(); }
  bool empty() const { return members_.empty(); }

 private:
  static constexpr uint32_t kAbsent = ~0u;
  std::vector<uint32_t> members_;
  std::vector<uint32_t> position_;
};

}  // namespace remaplab
