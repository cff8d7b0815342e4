// Reads a log message from left to right. Every step says whether it matched; a failed one moves nothing.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace remaplab::xla {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Skip(std::string_view expected) {
    if (!rest().starts_with(expected)) {
      return false;
    }
    at_ += expected.size();
    return true;
  }

  // Moves behind the next `mark`, wherever it is.
  bool SkipPast(std::string_view mark) {
    const size_t found = text_.find(mark, at_);
    if (found == std::string_view::npos) {
      return false;
    }
    at_ = found + mark.size();
    return true;
  }

  bool Decimal(uint64_t& value) { return Number(value, 10); }

  bool Signed(int64_t& value) {
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    return Took(end, error);
  }

  // "0x302000000"; "(nil)" and "0" are null.
  bool Pointer(uint64_t& address) {
    if (rest().starts_with("0x")) {
      at_ += 2;
      if (Number(address, 16)) {
        return true;
      }
      at_ -= 2;
      return false;
    }
    address = 0;
    return Skip("(nil)") || Skip("0");
  }

  // What comes before `mark`, which is skipped.
  bool Until(std::string_view mark, std::string_view& out) {
    const size_t found = text_.find(mark, at_);
    if (found == std::string_view::npos) {
      return false;
    }
    out = text_.substr(at_, found - at_);
    at_ = found + mark.size();
    return true;
  }

  // A word without spaces, commas, closing brackets or terminal escapes; not empty.
  bool Word(std::string_view& out) {
    out = rest().substr(0, rest().find_first_of(" ,;)]\x1b"));
    at_ += out.size();
    return !out.empty();
  }

  std::string_view rest() const { return text_.substr(at_); }
  size_t position() const { return at_; }
  bool AtEnd() const { return at_ == text_.size(); }

 private:
  bool Number(uint64_t& value, int base) {
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, base);
    return Took(end, error);
  }

  bool Took(const char* end, std::errc error) {
    if (error != std::errc()) {
      return false;
    }
    at_ = static_cast<size_t>(end - text_.data());
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace remaplab::xla
