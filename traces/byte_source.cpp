#include "traces/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace remaplab {
namespace {

constexpr size_t kRawSize = 256 * 1024;
constexpr size_t kMagicSize = 4;

enum class Packing { kPlain, kZstd, kGzip };

Packing PackingOf(std::string_view start) {
  if (start.starts_with("\x28\xb5\x2f\xfd")) {
    return Packing::kZstd;
  }
  return start.starts_with("\x1f\x8b") ? Packing::kGzip : Packing::kPlain;
}

}  // namespace

class ByteSource::Impl {
 public:
  Impl(int fd, bool owned) : fd_(fd), owned_(owned), raw_(kRawSize) {}
  explicit Impl(std::string_view bytes) : input_(bytes), at_end_(true) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (owned_) {
      close(fd_);
    }
    if (inflate_ready_) {
      inflateEnd(&inflate_);
    }
  }

  // Reads enough to know the packing.
  Status Start() {
    while (input_.size() < kMagicSize && !at_end_) {
      REMAPLAB_TRY(Refill());
    }
    packing_ = PackingOf(input_);
    if (packing_ == Packing::kZstd) {
      zstd_.reset(ZSTD_createDCtx());
    } else if (packing_ == Packing::kGzip) {
      constexpr int kGzipOnly = 16 + MAX_WBITS;
      if (inflateInit2(&inflate_, kGzipOnly) != Z_OK) {
        return Fail(ErrorCode::kInternal, "zlib: cannot start");
      }
      inflate_ready_ = true;
    }
    return {};
  }

  Result<size_t> Read(char* out, size_t size) {
    switch (packing_) {
      case Packing::kZstd:
        return ReadZstd(out, size);
      case Packing::kGzip:
        return ReadGzip(out, size);
      case Packing::kPlain:
        break;
    }
    return ReadPlain(out, size);
  }

  bool truncated() const { return truncated_; }

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  Result<size_t> ReadRaw(char* out, size_t size) {
    ssize_t count = 0;
    do {
      count = read(fd_, out, size);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
      return Fail(ErrorCode::kIo, fmt::format("cannot read: {}", std::strerror(errno)));
    }
    return static_cast<size_t>(count);
  }

  // Adds raw bytes behind those not yet used.
  Status Refill() {
    std::copy(input_.begin(), input_.end(), raw_.begin());
    REMAPLAB_ASSIGN(const size_t count, ReadRaw(raw_.data() + input_.size(), raw_.size() - input_.size()));
    at_end_ = count == 0;
    input_ = {raw_.data(), input_.size() + count};
    return {};
  }

  Result<size_t> ReadPlain(char* out, size_t size) {
    if (input_.empty() && !at_end_) {
      REMAPLAB_ASSIGN(const size_t straight, ReadRaw(out, size));
      at_end_ = straight == 0;
      return straight;
    }
    const size_t count = std::min(size, input_.size());
    std::copy_n(input_.data(), count, out);
    input_.remove_prefix(count);
    return count;
  }

  Result<size_t> ReadZstd(char* out, size_t size) {
    ZSTD_outBuffer output = {out, size, 0};
    while (output.pos == 0) {
      if (input_.empty() && !at_end_) {
        REMAPLAB_TRY(Refill());
      }
      ZSTD_inBuffer input = {input_.data(), input_.size(), 0};
      const bool no_more = input_.empty();
      if (no_more && !inside_frame_) {
        break;
      }
      const size_t result = ZSTD_decompressStream(zstd_.get(), &output, &input);
      if (ZSTD_isError(result)) {
        return Fail(ErrorCode::kInput, fmt::format("the zstd data is damaged: {}", ZSTD_getErrorName(result)));
      }
      input_.remove_prefix(input.pos);
      inside_frame_ = result != 0;
      if (no_more && output.pos == 0) {
        truncated_ = inside_frame_;
        break;
      }
    }
    return output.pos;
  }

  Result<size_t> ReadGzip(char* out, size_t size) {
    const auto limit = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    inflate_.next_out = reinterpret_cast<Bytef*>(out);
    inflate_.avail_out = limit;
    while (inflate_.avail_out == limit) {
      if (input_.empty() && !at_end_) {
        REMAPLAB_TRY(Refill());
      }
      if (input_.empty()) {
        truncated_ = inside_frame_;
        break;
      }
      REMAPLAB_TRY(InflateSome());
    }
    return limit - inflate_.avail_out;
  }

  Status InflateSome() {
    const auto available = static_cast<uInt>(std::min<size_t>(input_.size(), 1u << 30));
    inflate_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
    inflate_.avail_in = available;
    inside_frame_ = true;
    const int result = inflate(&inflate_, Z_NO_FLUSH);
    input_.remove_prefix(available - inflate_.avail_in);
    if (result == Z_STREAM_END) {
      inside_frame_ = false;
      inflateReset(&inflate_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Fail(ErrorCode::kInput, fmt::format("the gzip data is damaged: {}",
                                                 inflate_.msg != nullptr ? inflate_.msg : "no reason given"));
    }
    return {};
  }

  int fd_ = -1;
  bool owned_ = false;
  std::vector<char> raw_;
  std::string_view input_;  // raw bytes not yet used, in raw_ or in the caller's memory
  bool at_end_ = false;     // of the raw bytes
  Packing packing_ = Packing::kPlain;
  std::unique_ptr<ZSTD_DCtx, FreeContext> zstd_;
  z_stream inflate_ = {};
  bool inflate_ready_ = false;
  bool inside_frame_ = false;
  bool truncated_ = false;
};

ByteSource::ByteSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::Open(const std::string& path) {
  const bool standard_input = path == "-";
  const int fd = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot open: {}", std::strerror(errno)));
  }
  ByteSource source(std::make_unique<Impl>(fd, !standard_input));
  REMAPLAB_TRY(source.impl_->Start());
  return source;
}

Result<ByteSource> ByteSource::FromMemory(std::string_view bytes) {
  ByteSource source(std::make_unique<Impl>(bytes));
  REMAPLAB_TRY(source.impl_->Start());
  return source;
}

Result<size_t> ByteSource::Read(char* out, size_t size) { return impl_->Read(out, size); }
bool ByteSource::truncated() const { return impl_->truncated(); }

}  // namespace remaplab
