// How commands print rows: an aligned table for people, CSV, JSON or Markdown for everybody else. CSV and JSON are
// written row by row, so that ten million rows need no memory; the others wait for the widest cell.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace remaplab::cli {

enum class Format : uint8_t { kTable, kJson, kCsv, kMarkdown };

// "table", "json", "csv", "markdown". Error kUsage for anything else.
Result<Format> ParseFormat(std::string_view text);

struct Cell {
  enum class Kind : uint8_t { kText, kNumber, kNull };
  Kind kind = Kind::kText;
  std::string text;  // a number as JSON would write it

  static Cell Text(std::string_view text) { return {Kind::kText, std::string(text)}; }
  static Cell Int(int64_t value) { return {Kind::kNumber, std::to_string(value)}; }
  static Cell UInt(uint64_t value) { return {Kind::kNumber, std::to_string(value)}; }
  static Cell Double(double value, int decimals);  // fixed notation
  static Cell Null() { return {Kind::kNull, {}}; }
};

class TableWriter {
 public:
  // `out` must outlive the writer. JSON is an array of objects.
  TableWriter(std::FILE* out, Format format) : out_(out), format_(format) {}

  void Begin(std::vector<std::string> columns);
  void Row(std::vector<Cell> cells);  // as many as there are columns
  // Writes what is left. kIo when `out` did not take everything (a full disk, a closed pipe).
  Status Finish();

 private:
  void WriteCsv(const std::vector<Cell>& cells);
  void WriteJson(const std::vector<Cell>& cells);
  void WriteAligned();
  void WriteMarkdown();

  std::FILE* out_;
  Format format_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
  uint64_t written_ = 0;
};

// 1234567 -> "1,234,567"; for tables only.
std::string Grouped(int64_t value);
// Nanoseconds with a unit that suits their size: "552.00 ms", "27.1 us", "300 ns".
std::string Duration(int64_t ns);
// Bytes with a binary unit: "24.56 GiB"; whole below 1 KiB.
std::string Bytes(uint64_t bytes);

}  // namespace remaplab::cli
