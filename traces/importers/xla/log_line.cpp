#include "traces/importers/xla/log_line.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace remaplab::xla {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr size_t kAbslStamp = 20;  // "1201 02:51:50.054604"
constexpr size_t kTslStamp = 26;   // "2025-12-01 02:51:50.054604"

bool Digit(char c) { return c >= '0' && c <= '9'; }
bool Severity(char c) { return c == 'I' || c == 'W' || c == 'E' || c == 'F'; }

// `pattern`: 'd' stands for a digit, everything else for itself.
bool Matches(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) {
    return false;
  }
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == 'd' ? !Digit(text[i]) : text[i] != pattern[i]) {
      return false;
    }
  }
  return true;
}

// Looked at for every line: separators first, then the digits between them.
bool AbslStampAt(std::string_view text) {
  if (text.size() <= kAbslStamp || text[13] != '.' || text[10] != ':' || text[7] != ':' || text[4] != ' ') {
    return false;
  }
  unsigned not_digit = 0;
  for (const size_t at : {0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 16, 17, 18, 19}) {
    not_digit |= static_cast<unsigned>(static_cast<unsigned char>(text[at]) - '0') > 9U ? 1U : 0U;
  }
  return not_digit == 0;
}

// An absl line before initialisation: "0000 00:00:<unix seconds>.<us>".
size_t UnixStamp(std::string_view text) {
  constexpr std::string_view kStart = "0000 00:00:";
  if (!text.starts_with(kStart)) {
    return 0;
  }
  const size_t dot = text.find_first_not_of("0123456789", kStart.size());
  return dot != std::string_view::npos && dot > kStart.size() + 2 && Matches(text.substr(dot), ".dddddd") ? dot + 7 : 0;
}

// The stamp of an absl line without its severity; 0 when there is none.
size_t StampSize(std::string_view text) {
  if (text.starts_with("0000 ")) {
    return UnixStamp(text);
  }
  return AbslStampAt(text) ? kAbslStamp : 0;
}

void TakeDevice(LogLine& line) {
  const std::string_view message = line.message;
  if (message.size() < 4 || message[0] != '[') {
    return;
  }
  size_t at = message[1] == '-' ? 2 : 1;
  int32_t device = 0;
  const size_t begin = at;
  while (at < message.size() && Digit(message[at]) && at < begin + 8) {
    device = device * 10 + (message[at++] - '0');
  }
  if (at > begin && message.substr(at).starts_with("] ")) {
    line.device = message[1] == '-' ? -1 : device;
    line.message.remove_prefix(at + 2);
  }
}

bool ParseAbsl(std::string_view text, LogLine& line) {
  const size_t stamp = StampSize(text.substr(1));
  if (stamp == 0) {
    return false;
  }
  line.stamp = text.substr(1, stamp);
  size_t at = 1 + stamp;
  while (at < text.size() && text[at] == ' ') {
    ++at;
  }
  uint64_t thread = 0;
  const size_t thread_begin = at;
  while (at < text.size() && Digit(text[at])) {
    thread = thread * 10 + static_cast<uint64_t>(text[at++] - '0');
  }
  if (at == thread_begin || at >= text.size() || text[at] != ' ') {
    return false;
  }
  const size_t file = at + 1;
  const size_t end = text.find("] ", file);
  const size_t colon = end == std::string_view::npos ? end : text.rfind(':', end);
  if (colon == std::string_view::npos || colon < file) {
    return false;
  }
  line.thread = thread;
  line.file = text.substr(file, colon - file);
  line.message = text.substr(end + 2);
  return true;
}

// "2025-01-01 00:00:00.000000: I xla/service/gpu/gpu_executable.cc:79] message"; a thread id may stand before the path.
bool ParseTsl(std::string_view text, LogLine& line) {
  if (!Matches(text, "dddd-dd-dd dd:dd:dd.dddddd: ") || !Severity(text[kTslStamp + 2])) {
    return false;
  }
  const size_t end = text.find("] ");
  const size_t colon = end == std::string_view::npos ? end : text.rfind(':', end);
  if (colon == std::string_view::npos || colon < kTslStamp + 4) {
    return false;
  }
  line.stamp = text.substr(0, kTslStamp);
  line.thread = 0;
  const std::string_view path = text.substr(kTslStamp + 4, colon - kTslStamp - 4);
  line.file = path.substr(path.rfind('/') + 1);
  line.message = text.substr(end + 2);
  return true;
}

int64_t Number(std::string_view digits) {
  int64_t value = 0;
  for (const char c : digits) {
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

bool ParseLogLine(std::string_view text, LogLine& line) {
  line.device = -1;
  if (text.size() < 24) {
    return false;
  }
  const bool parsed = Severity(text[0]) ? ParseAbsl(text, line) : Digit(text[0]) && ParseTsl(text, line);
  if (parsed) {
    TakeDevice(line);
  }
  return parsed;
}

size_t FindLogPrefix(std::string_view text, size_t from) {
  LogLine line;
  for (size_t at = from; at + 24 < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const bool maybe = Severity(rest[0]) ? StampSize(rest.substr(1)) > 0
                                         : Digit(rest[0]) && rest[4] == '-' && (at == 0 || !Digit(text[at - 1]));
    if (maybe && ParseLogLine(rest, line)) {
      return at;
    }
  }
  return std::string_view::npos;
}

std::string_view WithoutEscapes(std::string_view text, std::string& storage) {
  size_t escape = text.find('\x1b');
  if (escape == std::string_view::npos) {
    return text;
  }
  storage.clear();
  size_t at = 0;
  while (escape != std::string_view::npos) {
    storage.append(text.substr(at, escape - at));
    at = escape + 1;
    if (at < text.size() && text[at] == '[') {
      // A control sequence: parameters, then one final byte of @ to ~.
      ++at;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) {
        ++at;
      }
      at = std::min(at + 1, text.size());
    }
    escape = text.find('\x1b', at);
  }
  return storage.append(text.substr(at));
}

int64_t LogClock::Absolute(std::string_view stamp) {
  const std::string_view second = stamp.substr(0, stamp.size() - 6);
  if (second.size() != second_size_ || std::memcmp(second.data(), second_, second_size_) != 0) {
    second_size_ = second.size();
    std::memcpy(second_, second.data(), second_size_);
    const bool tsl = stamp.size() == kTslStamp;
    static constexpr std::array<int, 12> kDaysBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const auto month = static_cast<size_t>(std::clamp<int64_t>(Number(stamp.substr(tsl ? 5 : 0, 2)), 1, 12));
    const int64_t day = Number(stamp.substr(tsl ? 8 : 2, 2));
    const std::string_view time = stamp.substr(tsl ? 11 : 5);
    second_ns_ = (kDaysBefore[month - 1] + day) * kDay + Number(time.substr(0, 2)) * 3600 * kSecond +
                 Number(time.substr(3, 2)) * 60 * kSecond + Number(time.substr(6, 2)) * kSecond;
  }
  return second_ns_ + Number(stamp.substr(stamp.size() - 6)) * 1000;
}

int64_t LogClock::Nanoseconds(std::string_view stamp) {
  if (stamp.size() != kAbslStamp && stamp.size() != kTslStamp) {
    return last_ - first_;
  }
  int64_t now = Absolute(stamp) + year_ns_;
  if (!started_) {
    started_ = true;
    first_ = now;
  } else if (last_ - now > 300 * kDay) {
    year_ns_ += 365 * kDay;
    now += 365 * kDay;
  }
  last_ = now;
  return now - first_;
}

}  // namespace remaplab::xla
