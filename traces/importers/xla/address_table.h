// The address table that XLA prints for every execution ("Buffer 0 -> 0x302000000 (4096 B); Buffer 1 -> ..."), kept as
// text: an unchanged stretch of the next execution's table costs a comparison, only what differs is parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace remaplab::xla {

struct TableEntry {
  uint32_t index = 0;    // allocation index, ascending in a table
  uint64_t address = 0;  // 0 for (nil)
  uint64_t size = 0;     // bytes
};

class AddressTable {
 public:
  // What Update found.
  enum class Match : uint8_t {
    kSame,        // the same shape; `changed` says which entries to look at
    kOtherShape,  // another executable's table: other indexes or sizes; nothing was taken over
    kUnreadable,  // no complete entry at all; nothing was taken over
  };

  // Takes a first table over. False when it has no complete entry.
  bool Read(std::string_view text);

  // Takes the next execution's table over if it has this one's shape: the same entries with the same sizes, where one
  // of them may be rounded up to `granularity` (XLA prints a remapped buffer with its rounded size), and where a table
  // that is cut short is compared as far as it goes. `changed` gets the positions of entries whose text differs, and of
  // those that the last table did not show; ascending.
  Match Update(std::string_view text, uint64_t granularity, std::vector<size_t>& changed);

  // Entries seen so far by any execution, ascending by index; those at visible() and above are not in the last table.
  const std::vector<TableEntry>& entries() const { return entries_; }
  size_t visible() const { return begin_.size(); }

  // The last table ended in the middle, so that entries after the visible ones are hidden.
  bool cut() const { return cut_; }
  // Some table was complete: entries() is all there is.
  bool complete() const { return complete_; }

 private:
  void Commit(std::string_view text, bool whole);

  std::string text_;
  std::vector<uint32_t> begin_;  // of each visible entry in text_
  std::vector<TableEntry> entries_;
  bool cut_ = false;
  bool complete_ = false;

  struct Parsed {
    size_t position;
    TableEntry entry;
  };
  std::vector<uint32_t> new_begin_;  // scratch of Update
  std::vector<Parsed> parsed_;
};

// Reads one complete entry at `at`, which moves behind it and its "; ". Only an entry with its closing " B)" is
// believed: a cut one may show half an address.
bool ReadTableEntry(std::string_view text, size_t& at, TableEntry& entry);

}  // namespace remaplab::xla
