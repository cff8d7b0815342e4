#include "backends/host/physical_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace remaplab {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// Reads the number that starts a file's first line; no limit for "max" and for a file that is not there.
uint64_t ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : kNoLimit;
}

uint64_t MachineAvailable() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "MemAvailable:";
    if (line.starts_with(kKey)) return std::strtoull(line.c_str() + kKey.size(), nullptr, 10) * 1024;
  }
  return kNoLimit;
}

// The tightest memory limit among this process's control groups (version 2) and their parents.
uint64_t ControlGroupAvailable() {
  std::ifstream file("/proc/self/cgroup");
  uint64_t available = kNoLimit;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const uint64_t limit = ReadNumber(folder + "/memory.max");
      if (limit != kNoLimit) {
        const uint64_t current = ReadNumber(folder + "/memory.current");
        available = std::min(available, current < limit ? limit - current : 0);
      }
      if (group.empty() || group == "/") break;
    }
  }
  return available;
}

}  // namespace

uint64_t AvailableMemory() {
  uint64_t available = std::min(MachineAvailable(), ControlGroupAvailable());
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    available = std::min<uint64_t>(available, limit.rlim_cur);
  }
  return available;
}

Result<PhysicalMemory> PhysicalMemory::Open(uint64_t limit) {
  const int file = memfd_create("remaplab", MFD_CLOEXEC);
  if (file < 0) {
    const bool descriptors = errno == EMFILE || errno == ENFILE;
    return Fail(ErrorCode::kUnsupported, fmt::format("host: memfd_create: {}{}", std::strerror(errno),
                                                     descriptors ? " (raise `ulimit -n`)" : ""));
  }
  return PhysicalMemory(file, limit);
}

PhysicalMemory::PhysicalMemory(PhysicalMemory&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      limit_(other.limit_),
      used_(other.used_),
      end_(other.end_),
      holes_(std::move(other.holes_)) {}

PhysicalMemory::~PhysicalMemory() {
  if (file_ >= 0) close(file_);
}

Result<uint64_t> PhysicalMemory::Allocate(uint64_t size) {
  if (size > limit_ - std::min(used_, limit_)) {
    return Fail(ErrorCode::kOutOfMemory,
                fmt::format("create({}): {} bytes of this machine's memory are in use and {} may be; "
                            "`--scale-sizes 1/64` makes a recording smaller",
                            size, used_, limit_));
  }
  const uint64_t offset = TakeExtent(size);
  int result = 0;
  do {
    result = fallocate(file_, 0, static_cast<off_t>(offset), static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    const int error = errno;
    ReturnExtent(offset, size);
    return Fail(ErrorCode::kOutOfMemory,
                fmt::format("create({}): no memory ({}); `--scale-sizes 1/64` makes a recording smaller", size,
                            std::strerror(error)));
  }
  used_ += size;
  return offset;
}

void PhysicalMemory::Free(uint64_t offset, uint64_t size) {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
  used_ -= size;
  ReturnExtent(offset, size);
}

uint64_t PhysicalMemory::TakeExtent(uint64_t size) {
  auto hole = std::find_if(holes_.begin(), holes_.end(), [&](const auto& entry) { return entry.second >= size; });
  if (hole == holes_.end()) {
    const uint64_t offset = end_;
    end_ += size;
    return offset;
  }
  const auto [offset, hole_size] = *hole;
  holes_.erase(hole);
  if (hole_size > size) holes_.emplace(offset + size, hole_size - size);
  return offset;
}

void PhysicalMemory::ReturnExtent(uint64_t offset, uint64_t size) {
  auto next = holes_.lower_bound(offset);
  if (next != holes_.end() && next->first == offset + size) {
    size += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  holes_.emplace(offset, size);
}

}  // namespace remaplab
