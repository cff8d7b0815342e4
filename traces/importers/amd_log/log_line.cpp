#include "traces/importers/amd_log/log_line.h"

#include <algorithm>

#include "base/parse.h"
#include "traces/format.h"
#include "traces/importers/calls/call_functions.h"
#include "traces/importers/calls/recording_builder.h"

namespace remaplab::calls {
namespace {

constexpr char kEscape = '\x1b';
constexpr int64_t kLatestUs = kLatestTime / 1000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsWord(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

// Takes a text apart from its front; every step says whether it was there.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool Take(std::string_view word) {
    if (!text_.starts_with(word)) {
      return false;
    }
    text_.remove_prefix(word.size());
    return true;
  }
  void Blanks() {
    while (!text_.empty() && text_.front() == ' ') {
      text_.remove_prefix(1);
    }
  }
  template <typename Predicate>
  std::string_view While(Predicate predicate) {
    const auto end = std::find_if_not(text_.begin(), text_.end(), predicate);
    const std::string_view taken = text_.substr(0, static_cast<size_t>(end - text_.begin()));
    text_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

std::optional<int64_t> Microseconds(std::string_view digits) {
  const Result<int64_t> value = ParseInt(digits, "time");
  return value && *value <= kLatestUs ? std::optional(*value) : std::nullopt;
}

std::optional<uint64_t> Decimal(std::string_view digits) {
  const Result<uint64_t> value = ParseUInt(digits, "number");
  return value ? std::optional(*value) : std::nullopt;
}

// Thread ids are hexadecimal, in some releases without saying so.
std::optional<uint64_t> Hexadecimal(Cursor& cursor) {
  cursor.Take("0x");
  const std::string_view digits = cursor.While(IsHex);
  const Result<uint64_t> value = ParseUInt(std::string("0x").append(digits), "thread");
  return !digits.empty() && value ? std::optional(*value) : std::nullopt;
}

bool TakeThread(Cursor& cursor, LogEntry& entry) {
  if (!cursor.Take("tid:")) {
    return false;
  }
  cursor.Blanks();
  const std::optional<uint64_t> tid = Hexadecimal(cursor);
  entry.tid = tid.value_or(0);
  return tid.has_value() && cursor.Take("]");
}

// What is between the time and the message.
bool TakeProcess(Cursor& cursor, LogEntry& entry) {
  Cursor attempt = cursor;
  attempt.Blanks();
  if (attempt.Take("[pid:")) {
    const std::optional<uint64_t> pid = Decimal(attempt.While(IsDigit));
    attempt.Blanks();
    if (!pid || !TakeThread(attempt, entry)) {
      return false;
    }
    entry.form = LogForm::kPidTid;
    entry.pid = *pid;
    cursor = attempt;
    return true;
  }
  const std::string_view digits = attempt.While(IsDigit);
  attempt.Blanks();
  if (!digits.empty() && attempt.Take(":")) {
    attempt.Blanks();
    const std::optional<uint64_t> pid = Decimal(digits);
    if (!pid || !attempt.Take("[") || !TakeThread(attempt, entry)) {
      return false;
    }
    entry.form = LogForm::kPidThenTid;
    entry.pid = *pid;
    cursor = attempt;
    return true;
  }
  entry.form = LogForm::kBare;
  return true;
}

// ":3:file.cpp  :123 : 1234567890 us:" and what follows it up to the message.
bool TakePrefix(Cursor& cursor, LogEntry& entry) {
  if (!cursor.Take(":") || cursor.While(IsDigit).size() != 1 || !cursor.Take(":")) {
    return false;
  }
  const auto in_file_name = [](char c) { return IsWord(c) || c == '.' || c == '-' || c == '/' || c == '+'; };
  if (cursor.While(in_file_name).empty()) {
    return false;
  }
  cursor.Blanks();
  if (!cursor.Take(":") || cursor.While(IsDigit).empty()) {
    return false;
  }
  cursor.Blanks();
  if (!cursor.Take(":")) {
    return false;
  }
  cursor.Blanks();
  const std::optional<int64_t> us = Microseconds(cursor.While(IsDigit));
  cursor.Take("d");  // a slip in the format of one release
  if (!us || !cursor.Take(" us:")) {
    return false;
  }
  entry.us = *us;
  return TakeProcess(cursor, entry);
}

}  // namespace

std::string_view StripEscapes(std::string_view line, std::string& buffer) {
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (line.find(kEscape) == std::string_view::npos) {
    return line;
  }
  buffer.clear();
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != kEscape) {
      buffer += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) {
        ++i;
      }
    }
  }
  return buffer;
}

void FindEntries(std::string_view line, std::vector<LogEntry>& entries) {
  entries.clear();
  // Every prefix has " us:"; most lines of other programs have not.
  if (line.find(" us:") == std::string_view::npos) {
    return;
  }
  size_t at = line.find(':');
  const char* message = nullptr;
  const auto close = [&](const char* end) {
    if (message != nullptr) {
      entries.back().message = Trimmed({message, static_cast<size_t>(end - message)});
    }
  };
  while (at != std::string_view::npos) {
    Cursor cursor(line.substr(at));
    LogEntry entry;
    if (TakePrefix(cursor, entry)) {
      close(line.data() + at);
      entries.push_back(entry);
      message = cursor.rest().data();
      at = static_cast<size_t>(message - line.data()) - 1;
    }
    at = line.find(':', at + 1);
  }
  close(line.data() + line.size());
}

ApiMessage ParseApiMessage(std::string_view message) {
  ApiMessage api;
  Cursor cursor(message);
  api.function = cursor.While(IsWord);
  if (!IsApiFunction(api.function)) {
    return api;
  }
  if (cursor.Take(": Returned ")) {
    api.code = cursor.While(IsWord);
    cursor.Blanks();
    if (api.code.empty() || !cursor.Take(":")) {
      api.code = {};  // torn
    }
    api.kind = ApiMessage::Kind::kLeave;
    cursor.Blanks();
    std::string_view rest = cursor.rest();
    const size_t duration = rest.find("duration: ");
    if (duration != std::string_view::npos) {
      Cursor tail(rest.substr(duration + std::string_view("duration: ").size()));
      const std::optional<int64_t> us = Microseconds(tail.While(IsDigit));
      api.duration_us = tail.Take(" us") ? us : std::nullopt;
      rest = rest.substr(0, duration);
    }
    Cursor value(rest);
    const std::string_view word = value.While([](char c) { return IsWord(c); });
    api.value = word.starts_with("0x") ? ArgumentValue(word) : std::nullopt;
    return api;
  }
  cursor.Blanks();
  if (!cursor.Take("(")) {
    return api;
  }
  const std::string_view rest = Trimmed(cursor.rest());
  api.kind = rest.ends_with(')') ? ApiMessage::Kind::kEnter : ApiMessage::Kind::kTorn;
  api.arguments = api.kind == ApiMessage::Kind::kEnter ? Trimmed(rest.substr(0, rest.size() - 1)) : std::string_view();
  return api;
}

void SplitArguments(std::string_view arguments, std::vector<std::string_view>& values) {
  values.clear();
  if (arguments.empty()) {
    return;
  }
  while (true) {
    const size_t comma = arguments.find(", ");
    values.push_back(Trimmed(arguments.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return;
    }
    arguments.remove_prefix(comma + 2);
  }
}

}  // namespace remaplab::calls
