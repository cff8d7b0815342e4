#include "traces/importers/xla/address_table.h"

#include <algorithm>
#include <cstring>

#include "traces/importers/xla/scanner.h"

namespace remaplab::xla {
namespace {

constexpr std::string_view kSeparator = "; ";
constexpr uint64_t kLargestBuffer = uint64_t{1} << 48;  // more is no size but a damaged line

// Bytes that both have in common at their start.
size_t CommonPrefix(std::string_view a, std::string_view b) {
  constexpr size_t kBlock = 256;
  const size_t size = std::min(a.size(), b.size());
  size_t at = 0;
  while (at + kBlock <= size && std::memcmp(a.data() + at, b.data() + at, kBlock) == 0) {
    at += kBlock;
  }
  while (at < size && a[at] == b[at]) {
    ++at;
  }
  return at;
}

uint64_t RoundedUp(uint64_t size, uint64_t granularity) {
  return granularity == 0 ? size : (size + granularity - 1) / granularity * granularity;
}

// The same buffer, printed with its own size or with the rounded size of its place in a reservation.
bool SameSize(uint64_t a, uint64_t b, uint64_t granularity) {
  return a == b || (std::min(a, b) > 0 && RoundedUp(std::min(a, b), granularity) == std::max(a, b));
}

// Nothing is missing behind the entries that end at `at`.
bool Whole(std::string_view text, size_t at) { return at == text.size() && !text.ends_with(kSeparator); }

}  // namespace

bool ReadTableEntry(std::string_view text, size_t& at, TableEntry& entry) {
  Scanner scan(text.substr(at));
  uint64_t index = 0;
  if (!scan.Skip("Buffer ") || !scan.Decimal(index) || index > UINT32_MAX - 1 || !scan.Skip(" -> ") ||
      !scan.Pointer(entry.address) || !scan.Skip(" (") || !scan.Decimal(entry.size) || !scan.Skip(" B)") ||
      entry.size > kLargestBuffer) {
    return false;
  }
  entry.index = static_cast<uint32_t>(index);
  scan.Skip(kSeparator);
  at += scan.position();
  return true;
}

bool AddressTable::Read(std::string_view text) {
  begin_.clear();
  entries_.clear();
  TableEntry entry;
  size_t at = 0;
  for (size_t next = 0; ReadTableEntry(text, next, entry); at = next) {
    if (!entries_.empty() && entry.index <= entries_.back().index) {
      break;
    }
    begin_.push_back(static_cast<uint32_t>(at));
    entries_.push_back(entry);
  }
  complete_ = Whole(text, at);
  cut_ = !complete_;
  text_.assign(text);
  return !entries_.empty();
}

AddressTable::Match AddressTable::Update(std::string_view text, uint64_t granularity, std::vector<size_t>& changed) {
  changed.clear();
  if (text == text_) {
    return Match::kSame;
  }
  new_begin_.clear();
  parsed_.clear();
  const std::string_view old = text_;
  const size_t known = entries_.size();
  uint32_t last_index = entries_.back().index;
  size_t at = 0;        // in the new text
  size_t position = 0;  // of the entry that begins there
  while (true) {
    if (position < begin_.size()) {
      // Skip entries that are equal. One that touches the first difference, or the end, is parsed.
      const size_t from = begin_[position];
      const size_t common = CommonPrefix(text.substr(at), old.substr(from));
      const auto behind =
          std::upper_bound(begin_.begin() + static_cast<ptrdiff_t>(position), begin_.end(), from + common);
      const auto last = static_cast<size_t>(behind - begin_.begin()) - 1;
      for (; position < last; ++position) {
        new_begin_.push_back(static_cast<uint32_t>(at + begin_[position] - from));
      }
      at += begin_[last] - from;
    }
    TableEntry entry;
    size_t next = at;
    if (!ReadTableEntry(text, next, entry)) {
      break;
    }
    if (position < known) {
      const TableEntry& before = entries_[position];
      if (entry.index != before.index || !SameSize(entry.size, before.size, granularity)) {
        return Match::kOtherShape;
      }
      if (position >= begin_.size() || entry.address != before.address || entry.size != before.size) {
        changed.push_back(position);
      }
    } else {
      if (complete_ || entry.index <= last_index) {
        return Match::kOtherShape;
      }
      last_index = entry.index;
      changed.push_back(position);
    }
    parsed_.push_back({position, entry});
    new_begin_.push_back(static_cast<uint32_t>(at));
    ++position;
    at = next;
  }
  if (new_begin_.empty()) {
    return Match::kUnreadable;
  }
  const bool whole = Whole(text, at);
  if (whole && position < known) {
    return Match::kOtherShape;
  }
  Commit(text, whole);
  return Match::kSame;
}

void AddressTable::Commit(std::string_view text, bool whole) {
  for (const Parsed& parsed : parsed_) {
    if (parsed.position < entries_.size()) {
      entries_[parsed.position].address = parsed.entry.address;
    } else {
      entries_.push_back(parsed.entry);
    }
  }
  begin_.swap(new_begin_);
  text_.assign(text);
  cut_ = !whole;
  complete_ = complete_ || whole;
}

}  // namespace remaplab::xla
