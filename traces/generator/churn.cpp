#include "traces/generator/churn.h"

#include <fmt/format.h>

#include <array>

#include "base/parse.h"
#include "traces/generator/key_values.h"

namespace remaplab {
namespace {

struct Field {
  std::string_view name;
  uint32_t Churn::*value;
};
constexpr std::array<Field, 10> kFields = {{{"metrics", &Churn::metrics},
                                            {"generations", &Churn::generations},
                                            {"inputs", &Churn::inputs},
                                            {"prefetch", &Churn::prefetch},
                                            {"scratch", &Churn::scratch},
                                            {"moves", &Churn::moves},
                                            {"aliases", &Churn::aliases},
                                            {"evaluate", &Churn::evaluate},
                                            {"checkpoint", &Churn::checkpoint},
                                            {"pressure", &Churn::pressure}}};
constexpr uint64_t kLargestNumber = 1'000'000;

std::string FieldNames() {
  std::string names = "donated, undonated, steady";
  for (const Field& field : kFields) {
    names += fmt::format(", {}=N", field.name);
  }
  return names;
}

Status ApplyPair(const KeyValue& pair, Churn& churn) {
  if (pair.value.empty()) {
    if (pair.key == "donated" || pair.key == "undonated") {
      churn.donated = pair.key == "donated";
      return {};
    }
    if (pair.key == "steady") {
      churn.metrics = churn.inputs = churn.scratch = churn.moves = 0;
      return {};
    }
  }
  for (const Field& field : kFields) {
    if (field.name == pair.key && !pair.value.empty()) {
      const std::string what = fmt::format("churn: {}", pair.key);
      REMAPLAB_ASSIGN(const uint64_t number, ParseUInt(pair.value, what));
      if (number > kLargestNumber) {
        return Fail(ErrorCode::kUsage, fmt::format("{}: {} is more than {}", what, number, kLargestNumber));
      }
      churn.*field.value = static_cast<uint32_t>(number);
      return {};
    }
  }
  return Fail(ErrorCode::kUsage, fmt::format("churn: '{}' is not one of {}", pair.key, FieldNames()));
}

}  // namespace

Status ApplyChurn(std::string_view text, Churn& churn) {
  REMAPLAB_ASSIGN(const std::vector<KeyValue> pairs, ParseKeyValues(text, "churn"));
  for (const KeyValue& pair : pairs) {
    REMAPLAB_TRY(ApplyPair(pair, churn));
  }
  return {};
}

std::string ChurnText(const Churn& churn) {
  std::string text = churn.donated ? "donated" : "undonated";
  for (const Field& field : kFields) {
    text += fmt::format(",{}={}", field.name, churn.*field.value);
  }
  return text;
}

}  // namespace remaplab
