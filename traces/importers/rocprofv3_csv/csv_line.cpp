#include "traces/importers/rocprofv3_csv/csv_line.h"

#include <algorithm>

namespace remaplab::calls {

Status SplitCsvLine(std::string_view line, std::vector<std::string>& fields) {
  size_t used = 0;
  const auto next_field = [&]() -> std::string& {
    if (used == fields.size()) {
      fields.emplace_back();
    }
    fields[used].clear();
    return fields[used++];
  };
  size_t at = 0;
  while (true) {
    std::string& field = next_field();
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at == line.size()) {
          return Fail(ErrorCode::kInput, "a quote is not closed");
        }
        if (line[at] == '"' && (at + 1 == line.size() || line[at + 1] != '"')) {
          ++at;
          break;
        }
        at += line[at] == '"' ? 1 : 0;
        field += line[at];
      }
      if (at < line.size() && line[at] != ',') {
        return Fail(ErrorCode::kInput, "there is text behind a closing quote");
      }
    } else {
      const size_t comma = std::min(line.find(',', at), line.size());
      field.assign(line.substr(at, comma - at));
      at = comma;
    }
    if (at == line.size()) {
      fields.resize(used);
      return {};
    }
    ++at;
  }
}

}  // namespace remaplab::calls
