// Reads the store with SQL, and never changes it: one statement, checked before it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/store.h"
#include "base/result.h"

namespace remaplab {

// monostate is SQL's null.
using QueryValue = std::variant<std::monostate, int64_t, double, std::string>;

// Called once with the columns, then once per row; an error stops the query and is returned.
struct QueryVisitor {
  std::function<Status(std::vector<std::string> columns)> on_columns;
  std::function<Status(std::span<const QueryValue> row)> on_row;
};

// The promised views, in the order in which they are listed.
std::span<const std::string_view> PromisedViews();

// `text` is the name of a view, or one SQL statement that reads. Errors: kUsage with SQLite's message for bad SQL and
// for statements that would write.
Status RunQuery(Store& store, std::string_view text, const QueryVisitor& visitor);

}  // namespace remaplab
