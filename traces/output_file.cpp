#include "traces/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace remaplab {
namespace {

constexpr mode_t kMode = 0666;  // the umask takes away what the user does not want

// Writing through a symbolic link must not replace the link.
std::string ResolveLinks(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr), &std::free);
  return resolved ? std::string(resolved.get()) : path;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile file;
  struct stat status;
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return Fail(ErrorCode::kIo, fmt::format("{}: is a folder", path));
  }
  if (exists && !S_ISREG(status.st_mode)) {
    file.target_ = path;
    file.direct_ = true;
    file.fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file.target_ = exists ? ResolveLinks(path) : path;
    // Naming a nameless file goes through /proc, which a container may lack.
    if (access("/proc/self/fd", X_OK) == 0) {
      file.fd_ = open(FolderOf(file.target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
    }
    if (file.fd_ < 0) {
      file.temporary_ = fmt::format("{}.{}.tmp", file.target_, getpid());
      file.fd_ = open(file.temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kMode);
    }
  }
  if (file.fd_ < 0) {
    file.temporary_.clear();
    return Fail(file.Failure("cannot create"));
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(target_, other.target_);
  std::swap(temporary_, other.temporary_);
  std::swap(direct_, other.direct_);
  return *this;
}

OutputFile::~OutputFile() { Discard(); }

void OutputFile::Discard() {
  if (fd_ >= 0) {
    close(fd_);
    fd_ = -1;
  }
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());
    temporary_.clear();
  }
}

Error OutputFile::Failure(std::string_view doing) const {
  return Error(ErrorCode::kIo, fmt::format("{}: {}: {}", target_, doing, std::strerror(errno)));
}

Status OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return Fail(Failure("cannot write"));
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status OutputFile::Name() {
  if (temporary_.empty()) {
    const std::string self = fmt::format("/proc/self/fd/{}", fd_);
    const std::string name = fmt::format("{}.{}.tmp", target_, getpid());
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return Fail(Failure("cannot create"));
    }
    temporary_ = name;
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    return Fail(Failure("cannot rename"));
  }
  temporary_.clear();
  return {};
}

Status OutputFile::Commit() {
  if (!direct_) {
    if (fsync(fd_) != 0) {
      return Fail(Failure("cannot write"));
    }
    REMAPLAB_TRY(Name());
  }
  const int fd = std::exchange(fd_, -1);
  if (close(fd) != 0) {
    return Fail(Failure("cannot close"));
  }
  return {};
}

}  // namespace remaplab
