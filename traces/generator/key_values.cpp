#include "traces/generator/key_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace remaplab {

Result<std::vector<KeyValue>> ParseKeyValues(std::string_view text, std::string_view what) {
  std::vector<KeyValue> pairs;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    const size_t equals = part.find('=');
    KeyValue pair{std::string(part.substr(0, equals)),
                  equals == std::string_view::npos ? "" : std::string(part.substr(equals + 1))};
    if (pair.key.empty() || (comma != std::string_view::npos && text.empty())) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{}: there is nothing between two commas, or a name is missing", what));
    }
    if (std::any_of(pairs.begin(), pairs.end(), [&](const KeyValue& other) { return other.key == pair.key; })) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: '{}' is there twice", what, pair.key));
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace remaplab
