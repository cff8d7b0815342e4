// Rows of text and numbers, shown as an aligned table, CSV, JSON or Markdown. What every listing command prints with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/human.h"
#include "base/result.h"

namespace remaplab::cli {

enum class Format : uint8_t { kTable, kJson, kCsv, kMarkdown };

// Error kUsage naming what there is. "json" is an array of objects, one per row.
Result<Format> ParseFormat(std::string_view text);

struct Cell {
  std::string text;
  enum class Kind : uint8_t { kText, kNumber, kNull } kind = Kind::kText;

  Cell(std::string value) : text(std::move(value)) {}
  Cell(std::string_view value) : text(value) {}
  Cell(const char* value) : text(value) {}
  Cell(uint64_t value) : text(std::to_string(value)), kind(Kind::kNumber) {}
  Cell(int64_t value) : text(std::to_string(value)), kind(Kind::kNumber) {}
  Cell(uint32_t value) : Cell(uint64_t{value}) {}
  Cell(int32_t value) : Cell(int64_t{value}) {}
  // A number that is already text, e.g. with a fixed count of decimals.
  static Cell Number(std::string value) {
    Cell cell(std::move(value));
    cell.kind = Kind::kNumber;
    return cell;
  }
  static Cell Null() {
    Cell cell("");
    cell.kind = Kind::kNull;
    return cell;
  }
};

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;

  // Numbers are aligned to the right; CSV is RFC 4180 with a header line. Ends with a newline.
  std::string Render(Format format) const;
};

// One line of CSV, for results too large to be held as a table.
std::string CsvLine(std::span<const Cell> cells);

using remaplab::HumanBytes;
using remaplab::HumanTime;

}  // namespace remaplab::cli
