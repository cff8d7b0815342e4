#include "traces/line_reader.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

namespace remaplab {
namespace {

constexpr size_t kChunk = 256 * 1024;

XXH3_state_t* State(void* hash) { return static_cast<XXH3_state_t*>(hash); }

}  // namespace

void LineReader::FreeHash::operator()(void* state) const { XXH3_freeState(State(state)); }

LineReader::LineReader(ByteSource source)
    : source_(std::move(source)), hash_(XXH3_createState()), buffer_(kChunk + kPadding) {
  XXH3_128bits_reset(State(hash_.get()));
}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

Status LineReader::ReadMore() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ + kChunk / 2 + kPadding > buffer_.size()) {
    if (end_ > kLongestLine) {
      return Fail(ErrorCode::kInput, fmt::format("the line is longer than {} bytes", kLongestLine));
    }
    buffer_.resize(buffer_.size() * 2);
  }
  REMAPLAB_ASSIGN(const size_t count, source_.Read(buffer_.data() + end_, buffer_.size() - kPadding - end_));
  XXH3_128bits_update(State(hash_.get()), buffer_.data() + end_, count);
  end_ += count;
  at_end_ = count == 0;
  buffer_[end_] = '\0';
  return {};
}

Result<std::optional<LineReader::Line>> LineReader::Next() {
  size_t searched = begin_;
  while (true) {
    const void* feed = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    const char* begin = buffer_.data() + begin_;
    if (feed != nullptr) {
      const auto length = static_cast<size_t>(static_cast<const char*>(feed) - begin);
      begin_ += length + 1;
      ++line_number_;
      return Line{{begin, length}, true};
    }
    if (at_end_) {
      if (begin_ == end_) {
        return std::nullopt;
      }
      const size_t length = end_ - begin_;
      begin_ = end_;
      ++line_number_;
      return Line{{begin, length}, false};
    }
    const size_t unread = end_ - begin_;
    REMAPLAB_TRY(ReadMore());
    searched = unread;
  }
}

std::string LineReader::Xxh3() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(State(hash_.get())));
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

}  // namespace remaplab
