#include "replay/cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/json_writer.h"

namespace remaplab::cli {
namespace {

void Write(std::FILE* out, std::string_view text) { std::fwrite(text.data(), 1, text.size(), out); }

// Characters, not bytes: UTF-8 continuation bytes take no place.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string CsvCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted.append(c == '"' ? 2 : 1, c);
  }
  return quoted + '"';
}

std::string MarkdownCell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') {
      escaped += "\\|";
    } else {
      escaped += c == '\n' || c == '\r' ? ' ' : c;
    }
  }
  return escaped;
}

std::string OneLine(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

// A column is right-aligned when all that is in it are numbers.
std::vector<bool> NumericColumns(size_t columns, const std::vector<std::vector<Cell>>& rows) {
  std::vector<bool> numeric(columns, !rows.empty());
  for (const std::vector<Cell>& row : rows) {
    for (size_t i = 0; i < columns; ++i) {
      numeric[i] = numeric[i] && row[i].kind != Cell::Kind::kText;
    }
  }
  return numeric;
}

}  // namespace

Result<Format> ParseFormat(std::string_view text) {
  constexpr std::string_view kNames[] = {"table", "json", "csv", "markdown"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), text);
  if (found == std::end(kNames)) {
    return Fail(ErrorCode::kUsage, fmt::format("--format: '{}' is not one of table, json, csv, markdown", text));
  }
  return static_cast<Format>(found - std::begin(kNames));
}

Cell Cell::Double(double value, int decimals) {
  if (!std::isfinite(value)) {
    return Null();
  }
  return {Kind::kNumber, fmt::format("{:.{}f}", value, decimals)};
}

void TableWriter::Begin(std::vector<std::string> columns) {
  columns_ = std::move(columns);
  if (format_ == Format::kCsv) {
    std::vector<Cell> header;
    for (const std::string& column : columns_) {
      header.push_back(Cell::Text(column));
    }
    WriteCsv(header);
  } else if (format_ == Format::kJson) {
    Write(out_, "[");
  }
}

void TableWriter::Row(std::vector<Cell> cells) {
  switch (format_) {
    case Format::kCsv:
      WriteCsv(cells);
      break;
    case Format::kJson:
      WriteJson(cells);
      break;
    default:
      rows_.push_back(std::move(cells));
  }
}

Status TableWriter::Finish() {
  if (format_ == Format::kTable) {
    WriteAligned();
  } else if (format_ == Format::kMarkdown) {
    WriteMarkdown();
  } else if (format_ == Format::kJson) {
    Write(out_, written_ > 0 ? "\n]\n" : "]\n");
  }
  if (std::fflush(out_) != 0 || std::ferror(out_) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("writing the result: {}", std::strerror(errno)));
  }
  return {};
}

void TableWriter::WriteCsv(const std::vector<Cell>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line.append(i > 0 ? "," : "").append(CsvCell(cells[i].text));
  }
  Write(out_, line.append("\n"));
}

void TableWriter::WriteJson(const std::vector<Cell>& cells) {
  JsonWriter json;
  json.BeginObject();
  for (size_t i = 0; i < cells.size(); ++i) {
    json.Key(columns_[i]);
    switch (cells[i].kind) {
      case Cell::Kind::kNull:
        json.Null();
        break;
      case Cell::Kind::kNumber:
        json.Raw(cells[i].text);
        break;
      case Cell::Kind::kText:
        json.String(cells[i].text);
    }
  }
  json.EndObject();
  Write(out_, written_++ > 0 ? ",\n" : "\n");
  Write(out_, json.text());
}

void TableWriter::WriteAligned() {
  std::vector<size_t> width;
  for (const std::string& column : columns_) {
    width.push_back(Width(column));
  }
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], Width(row[i].text));
    }
  }
  const std::vector<bool> numeric = NumericColumns(columns_.size(), rows_);
  const auto write_line = [&](const auto& text_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string text = OneLine(text_of(i));
      const std::string padding(width[i] - std::min(width[i], Width(text)), ' ');
      line.append(i > 0 ? "  " : "").append(numeric[i] ? padding + text : text + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    Write(out_, line.append("\n"));
  };
  write_line([&](size_t i) -> const std::string& { return columns_[i]; });
  for (const std::vector<Cell>& row : rows_) {
    write_line([&](size_t i) -> const std::string& { return row[i].text; });
  }
}

void TableWriter::WriteMarkdown() {
  const std::vector<bool> numeric = NumericColumns(columns_.size(), rows_);
  std::string text = "|";
  for (const std::string& column : columns_) {
    text += fmt::format(" {} |", MarkdownCell(column));
  }
  text += "\n|";
  for (size_t i = 0; i < columns_.size(); ++i) {
    text += numeric[i] ? "---:|" : "---|";
  }
  text += '\n';
  for (const std::vector<Cell>& row : rows_) {
    text += '|';
    for (const Cell& cell : row) {
      text += fmt::format(" {} |", MarkdownCell(cell.text));
    }
    text += '\n';
  }
  Write(out_, text);
}

std::string Grouped(int64_t value) {
  std::string digits = std::to_string(value);
  const int first = value < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string Duration(int64_t ns) {
  const double magnitude = std::abs(static_cast<double>(ns));
  if (magnitude < 1e3) {
    return fmt::format("{} ns", ns);
  }
  if (magnitude < 1e6) {
    return fmt::format("{:.2f} us", static_cast<double>(ns) / 1e3);
  }
  if (magnitude < 1e9) {
    return fmt::format("{:.2f} ms", static_cast<double>(ns) / 1e6);
  }
  return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
}

std::string Bytes(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

}  // namespace remaplab::cli
