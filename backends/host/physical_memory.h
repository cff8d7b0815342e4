// The host backend's physical memory: extents of one memfd. One file for everything, so that the number of backings is
// not limited by the number of file descriptors.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"

namespace remaplab {

// How much memory this process may take now: the least of what the machine has available, its control groups' limits
// and RLIMIT_FSIZE.
uint64_t AvailableMemory();

class PhysicalMemory {
 public:
  // Never hands out more than `limit` bytes at a time. Memory is committed when it is allocated: a touch cannot fail
  // later (a hole in a memfd that cannot be filled is a SIGBUS).
  static Result<PhysicalMemory> Open(uint64_t limit);

  PhysicalMemory(PhysicalMemory&& other) noexcept;
  PhysicalMemory& operator=(PhysicalMemory&& other) = delete;
  ~PhysicalMemory();

  // The offset in file() of `size` zeroed bytes; `size` is a multiple of the page size. Error kOutOfMemory.
  Result<uint64_t> Allocate(uint64_t size);
  // Gives the memory back to the machine; pages that are still mapped read as zero from now on.
  void Free(uint64_t offset, uint64_t size);

  int file() const { return file_; }
  uint64_t used() const { return used_; }

 private:
  PhysicalMemory(int file, uint64_t limit) : file_(file), limit_(limit) {}

  uint64_t TakeExtent(uint64_t size);
  void ReturnExtent(uint64_t offset, uint64_t size);

  int file_ = -1;
  uint64_t limit_ = 0;
  uint64_t used_ = 0;
  uint64_t end_ = 0;                    // of the file
  std::map<uint64_t, uint64_t> holes_;  // offset -> size, never two neighbours
};

}  // namespace remaplab
