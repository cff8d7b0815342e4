// The fast path of traces/line_parser.h: one pass over the text, no tree. A field that it does not expect sends the
// line to the general parser, which also words every error.
#include <charconv>
#include <cstring>

#include "traces/format.h"
#include "traces/line_parser.h"

namespace remaplab {
namespace {

// The text ends in a byte that is no digit, letter, quote or bracket, so that no step needs to ask for the end.
class Scanner {
 public:
  explicit Scanner(const char* at) : at_(at) {}

  const char* at() const { return at_; }

  bool Literal(std::string_view literal) {
    if (std::memcmp(at_, literal.data(), literal.size()) != 0) {
      return false;
    }
    at_ += literal.size();
    return true;
  }

  bool Character(char c) {
    Spaces();
    if (*at_ != c) {
      return false;
    }
    ++at_;
    return true;
  }

  // "name": with the quotes; empty when it is no short plain name.
  std::string_view Key() {
    Spaces();
    if (*at_ != '"') {
      return {};
    }
    const char* begin = ++at_;
    while (*at_ >= '_' && *at_ <= 'z') {
      ++at_;
    }
    const std::string_view key(begin, static_cast<size_t>(at_ - begin));
    return *at_++ == '"' && Character(':') ? key : std::string_view();
  }

  bool Number(uint64_t& value) {
    Spaces();
    const char* begin = at_;
    uint64_t sum = 0;
    while (static_cast<unsigned char>(*at_ - '0') < 10) {
      sum = sum * 10 + static_cast<uint64_t>(*at_ - '0');
      ++at_;
    }
    const auto digits = at_ - begin;
    value = sum;
    constexpr int kDigitsThatFit = 19;
    return digits > 0 && digits <= kDigitsThatFit && (digits == 1 || *begin != '0');
  }

  bool Null() {
    Spaces();
    return *at_ == 'n' && Literal("null");
  }

  bool True() {
    Spaces();
    return Literal("true");
  }

 private:
  void Spaces() {
    while (*at_ == ' ') {
      ++at_;
    }
  }

  const char* at_;
};

// Which fields were there; a second one of a name is for the general parser to refuse.
class Seen {
 public:
  bool Add(unsigned field) {
    const bool fresh = (fields_ & (1u << field)) == 0;
    fields_ |= 1u << field;
    return fresh;
  }
  bool Has(unsigned fields) const { return (fields_ & fields) == fields; }

 private:
  unsigned fields_ = 0;
};

bool Time(Scanner& in, int64_t& t, int64_t latest) {
  uint64_t value = 0;
  if (!in.Number(value) || value > static_cast<uint64_t>(latest)) {
    return false;
  }
  t = static_cast<int64_t>(value);
  return true;
}

bool Address(Scanner& in, uint64_t& address) {
  if (in.Null()) {
    address = kUnknownAddress;
    return true;
  }
  if (!in.Character('"') || !in.Literal("0x")) {
    return false;
  }
  const char* begin = in.at();
  constexpr ptrdiff_t kLongest = 16;
  const auto [end, error] = std::from_chars(begin, begin + kLongest, address, 16);
  in = Scanner(end);
  return error == std::errc() && address != kUnknownAddress && in.Character('"');
}

bool Bind(Scanner& in, std::vector<TraceBind>& bind) {
  bind.clear();
  if (!in.Character('[')) {
    return false;
  }
  if (in.Character(']')) {
    return true;
  }
  do {
    uint64_t slot = 0;
    uint64_t backing = kNullBacking;
    if (!in.Character('[') || !in.Number(slot) || slot >= kUnboundSlot || !in.Character(',') ||
        !(in.Null() || in.Number(backing)) || !in.Character(']')) {
      return false;
    }
    bind.push_back({static_cast<uint32_t>(slot), backing});
  } while (in.Character(','));
  return in.Character(']');
}

bool Alloc(Scanner& in, TraceRecord& record) {
  Seen seen;
  record.reused = false;
  while (in.Character(',')) {
    const std::string_view key = in.Key();
    bool fine = false;
    if (key == "backing") {
      fine = seen.Add(0) && in.Number(record.backing);
    } else if (key == "address") {
      fine = seen.Add(1) && Address(in, record.address);
    } else if (key == "size") {
      fine = seen.Add(2) && in.Number(record.size) && record.size > 0 && record.size <= kLargestSize;
    } else if (key == "t") {
      fine = seen.Add(3) && Time(in, record.t, kLatestTime);
    } else if (key == "reused") {
      fine = seen.Add(4) && in.True();
      record.reused = true;
    }
    if (!fine) {
      return false;
    }
  }
  record.type = TraceEventType::kAlloc;
  return seen.Has(0b111);
}

bool Free(Scanner& in, TraceRecord& record) {
  Seen seen;
  record.type = TraceEventType::kFree;
  while (in.Character(',')) {
    const std::string_view key = in.Key();
    bool fine = false;
    if (key == "backing") {
      fine = seen.Add(0) && in.Number(record.backing);
    } else if (key == "t") {
      fine = seen.Add(1) && Time(in, record.t, kLatestTime);
    } else if (key == "deferred") {
      fine = seen.Add(2) && in.True();
      record.type = TraceEventType::kDeferredFree;
    }
    if (!fine) {
      return false;
    }
  }
  return seen.Has(0b1);
}

bool Step(Scanner& in, TraceRecord& record) {
  Seen seen;
  record.duration = kUnknownTime;
  while (in.Character(',')) {
    const std::string_view key = in.Key();
    bool fine = false;
    if (key == "program") {
      uint64_t program = 0;
      fine = seen.Add(0) && in.Number(program) && program < kUnboundSlot;
      record.program_id = static_cast<uint32_t>(program);
    } else if (key == "step") {
      fine = seen.Add(1) && in.Number(record.step);
    } else if (key == "bind") {
      fine = seen.Add(2) && Bind(in, record.bind);
    } else if (key == "t") {
      fine = seen.Add(3) && Time(in, record.t, kLatestTime);
    } else if (key == "duration") {
      fine = seen.Add(4) && Time(in, record.duration, kLongestDuration);
    }
    if (!fine) {
      return false;
    }
  }
  record.type = TraceEventType::kStep;
  return seen.Has(0b111);
}

}  // namespace

bool ParseRegularLine(std::string_view text, TraceRecord& record) {
  Scanner in(text.data());
  if (!in.Literal("{\"event\":")) {
    return false;
  }
  record.t = kUnknownTime;
  bool fine = false;
  if (in.Character('"')) {
    if (in.Literal("step\"")) {
      fine = Step(in, record);
    } else if (in.Literal("alloc\"")) {
      fine = Alloc(in, record);
    } else if (in.Literal("free\"")) {
      fine = Free(in, record);
    }
  }
  return fine && in.Character('}') && in.at() == text.data() + text.size();
}

}  // namespace remaplab
