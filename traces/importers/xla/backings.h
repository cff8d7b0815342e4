// Which memory is behind an address: the lives of an allocator's buffers, told from its log lines and from the address
// tables (definitions.md section 4).
//
// - Same address and same rounded size is the same backing, until the log shows that a free was completed ("Actually
//   freeing"), that the memory is fresh (0.10 prints another line for memory that it hands out again), or that the
//   address came back with another rounded size.
// - An arena's backing is the address range, for ever: no allocator line speaks of it.
//
// A backing is written to the trace when a step first binds it, so that memory which no captured program uses
// (transfers, other modules) does not fill the trace. From then on its deferred frees and re-issues are written, too.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "traces/writer.h"

namespace remaplab::xla {

class Backings {
 public:
  // `granularity`: what sizes are rounded up to when they are compared. `arena`: see above.
  Backings(uint64_t granularity, bool arena) : granularity_(granularity), arena_(arena) {}

  // Called before a backing's life ends, so that a step that still holds it can be written first.
  void SetBeforeEnd(std::function<void()> before_end) { before_end_ = std::move(before_end); }
  void SetWriter(TraceWriter* writer) { writer_ = writer; }

  // Allocator lines. `fresh`: the log's version says that this is not memory handed out again.
  void Allocated(int32_t device, uint64_t address, uint64_t size, bool fresh, int64_t t);
  void Freed(int32_t device, uint64_t address, int64_t t);  // deferred: the allocator keeps the memory
  void Completed(int32_t device, uint64_t address, int64_t t);

  // Addresses inside belong to a reservation: memory there is the executable's own, not the allocator's.
  void Reserved(int32_t device, uint64_t address, uint64_t size);
  bool InReservation(int32_t device, uint64_t address) const;

  // The backing behind an address that a table shows; written to the trace if this is its first use.
  uint64_t Bind(int32_t device, uint64_t address, uint64_t size, int64_t t);

  // Memory whose address nothing tells. Its user ends it with EndUnknown.
  uint64_t BindUnknown(uint64_t size, int64_t t);
  void EndUnknown(uint64_t backing, int64_t t);

  // The process that owned the memory is gone.
  void EndAll(int64_t t);

  // Grows whenever lives ended: what was bound before has to be looked up again.
  uint64_t epoch() const { return epoch_; }
  bool Ended(uint64_t backing) const { return backing < ended_.size() && ended_[backing]; }

  uint64_t unknown_frees() const { return unknown_frees_; }  // of memory that the log never showed
  uint64_t found() const { return found_; }                  // in a table, without an allocator line
  uint64_t missing_frees() const { return missing_frees_; }  // allocated again without a free in between

 private:
  struct Key {
    uint64_t address;
    uint64_t rounded;  // 0 but for an arena
    int32_t device;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      uint64_t hash = (key.address >> 8) ^ (key.rounded << 20) ^ (static_cast<uint64_t>(key.device) << 56);
      hash *= 0x9e3779b97f4a7c15;
      return hash ^ (hash >> 32);
    }
  };
  struct Backing {
    uint64_t id = kNullBacking;  // kNullBacking: not yet in the trace
    uint64_t size = 0;
    bool listed = false;  // an allocator line told of it, so that its size is known
    bool kept = false;    // freed by its user, still the allocator's
  };
  struct Range {
    int32_t device;
    uint64_t begin;
    uint64_t end;
  };

  Key KeyOf(int32_t device, uint64_t address, uint64_t size) const {
    return {address, arena_ ? Rounded(size) : 0, device};
  }
  uint64_t Rounded(uint64_t size) const { return (size + granularity_ - 1) / granularity_ * granularity_; }
  void End(const Key& key, int64_t t);
  uint64_t Write(uint64_t address, uint64_t size, int64_t t);

  uint64_t granularity_;
  bool arena_;
  std::function<void()> before_end_;
  TraceWriter* writer_ = nullptr;
  std::unordered_map<Key, Backing, KeyHash> backings_;
  std::vector<Range> reserved_;
  std::vector<bool> ended_;  // by id
  uint64_t next_id_ = 0;
  uint64_t epoch_ = 0;
  uint64_t unknown_frees_ = 0;
  uint64_t found_ = 0;
  uint64_t missing_frees_ = 0;
};

}  // namespace remaplab::xla
