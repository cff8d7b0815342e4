// remaplab query: a promised view or any SQL, read-only.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "analysis/query.h"
#include "replay/cli/command.h"
#include "replay/cli/commands.h"
#include "replay/cli/table.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  add("format,f", po::value<std::string>()->default_value("table"), "table, json, csv or markdown");
  add("csv-dir", po::value<std::string>(), "write every promised view as NAME.csv into this directory");
}

Cell ToCell(const QueryValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return *number;
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return Cell::Number(fmt::format("{}", *real));
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  return Cell::Null();
}

std::vector<Cell> ToCells(std::span<const QueryValue> row) {
  std::vector<Cell> cells;
  cells.reserve(row.size());
  for (const QueryValue& value : row) {
    cells.push_back(ToCell(value));
  }
  return cells;
}

// Row by row, so that a store with millions of steps needs no memory.
Status StreamCsv(Store& store, std::string_view sql, const std::function<Status(std::string_view)>& write) {
  return RunQuery(store, sql,
                  {.on_columns =
                       [&](const std::vector<std::string>& columns) {
                         return write(CsvLine(std::vector<Cell>(columns.begin(), columns.end())));
                       },
                   .on_row = [&](std::span<const QueryValue> row) { return write(CsvLine(ToCells(row))); }});
}

Status WriteCsvFile(Store& store, std::string_view view, const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  const auto failed = [&] { return Fail(ErrorCode::kIo, fmt::format("{}: cannot be written", path)); };
  if (file == nullptr) {
    return failed();
  }
  REMAPLAB_TRY(StreamCsv(store, view, [&](std::string_view text) -> Status {
    return std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() ? Status() : failed();
  }));
  return std::fflush(file.get()) == 0 ? Status() : failed();
}

Status WriteCsvDirectory(Store& store, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", directory, error.message()));
  }
  for (const std::string_view view : PromisedViews()) {
    REMAPLAB_TRY(WriteCsvFile(store, view, fmt::format("{}/{}.csv", directory, view)));
  }
  return {};
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  const bool has_query = arguments.positional.size() > 1;
  if (has_query == arguments.Has("csv-dir")) {
    return Fail(ErrorCode::kUsage, "give a view or an SQL statement, or --csv-dir");
  }
  REMAPLAB_ASSIGN(Store store, Store::OpenForReading(arguments.positional[0]));
  if (!has_query) {
    REMAPLAB_TRY(WriteCsvDirectory(store, arguments.Get("csv-dir")));
    return kOk;
  }
  const std::string& sql = arguments.positional[1];
  if (format == Format::kCsv) {
    REMAPLAB_TRY(StreamCsv(store, sql, Print));
    return kOk;
  }
  Table table;
  REMAPLAB_TRY(RunQuery(store, sql,
                        {.on_columns = [&](std::vector<std::string> columns) -> Status {
                           table.columns = std::move(columns);
                           return {};
                         },
                         .on_row = [&](std::span<const QueryValue> row) -> Status {
                           table.rows.push_back(ToCells(row));
                           return {};
                         }}));
  REMAPLAB_TRY(Print(table.Render(format)));
  return kOk;
}

}  // namespace

const Command kQueryCommand = {
    .name = "query",
    .summary = "a view of a store or any SQL, read-only, as table, CSV, JSON or Markdown",
    .positional = "STORE [VIEW|SQL]",
    .example =
        "  remaplab query results.sqlite \"SELECT strategy, kind, n FROM v_call_counts WHERE phase = 'steps' AND n > "
        "0\"\n"
        "  how many driver calls each strategy made",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
