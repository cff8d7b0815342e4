#include "replay/cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_writer.h"

namespace remaplab::cli {
namespace {

// Columns that a terminal needs for UTF-8 text: one per code point.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void Pad(std::string& out, std::string_view text, size_t width, bool right) {
  const std::string space(width - std::min(width, Width(text)), ' ');
  out += right ? space : std::string();
  out += text;
  out += right ? std::string() : space;
}

std::string RenderText(const Table& table) {
  std::vector<size_t> widths;
  std::vector<bool> right;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    widths.push_back(Width(table.columns[c]));
    bool numbers = !table.rows.empty();
    for (const auto& row : table.rows) {
      widths[c] = std::max(widths[c], Width(row[c].text));
      numbers &= row[c].kind != Cell::Kind::kText;
    }
    right.push_back(numbers);
  }
  std::string out;
  const auto line = [&](auto text_of) {
    std::string text;
    for (size_t c = 0; c < widths.size(); ++c) {
      text += c == 0 ? "" : "  ";
      Pad(text, text_of(c), widths[c], right[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](size_t c) -> std::string_view { return table.columns[c]; });
  for (const auto& row : table.rows) {
    line([&](size_t c) -> std::string_view { return row[c].text; });
  }
  return out;
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' ? "\"\"" : std::string(1, c);
  }
  return out + "\"";
}

std::string RenderCsv(const Table& table) {
  std::string out = CsvLine(std::vector<Cell>(table.columns.begin(), table.columns.end()));
  for (const auto& row : table.rows) {
    out += CsvLine(row);
  }
  return out;
}

std::string RenderJson(const Table& table) {
  JsonWriter json;
  json.BeginArray();
  for (const auto& row : table.rows) {
    json.BeginObject();
    for (size_t c = 0; c < row.size(); ++c) {
      json.Key(table.columns[c]);
      switch (row[c].kind) {
        case Cell::Kind::kText:
          json.String(row[c].text);
          break;
        case Cell::Kind::kNumber:
          json.Raw(row[c].text);
          break;
        case Cell::Kind::kNull:
          json.Null();
          break;
      }
    }
    json.EndObject();
  }
  json.EndArray();
  return json.TakeText() + "\n";
}

std::string RenderMarkdown(const Table& table) {
  const auto escape = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
    }
    return out;
  };
  std::string out = "|";
  std::string rule = "|";
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const bool numbers = !table.rows.empty() && std::all_of(table.rows.begin(), table.rows.end(), [c](const auto& row) {
      return row[c].kind != Cell::Kind::kText;
    });
    out += " " + escape(table.columns[c]) + " |";
    rule += numbers ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (const Cell& cell : row) {
      out += " " + escape(cell.text) + " |";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

Result<Format> ParseFormat(std::string_view text) {
  constexpr std::array<std::string_view, 4> kNames = {"table", "json", "csv", "markdown"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) {
      return static_cast<Format>(i);
    }
  }
  return Fail(ErrorCode::kUsage, fmt::format("--format {} is not one of table, json, csv, markdown", text));
}

std::string CsvLine(std::span<const Cell> cells) {
  std::string out;
  for (size_t c = 0; c < cells.size(); ++c) {
    out += (c == 0 ? "" : ",") + CsvField(cells[c].text);
  }
  return out + "\r\n";
}

std::string Table::Render(Format format) const {
  switch (format) {
    case Format::kTable:
      return RenderText(*this);
    case Format::kJson:
      return RenderJson(*this);
    case Format::kCsv:
      return RenderCsv(*this);
    case Format::kMarkdown:
      return RenderMarkdown(*this);
  }
  return {};
}

}  // namespace remaplab::cli
