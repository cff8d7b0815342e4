#include "traces/generator/model_shapes.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/parse.h"
#include "traces/generator/key_values.h"

namespace remaplab {
namespace {

// From the models' published configurations.
constexpr std::array<ModelShape, 12> kShapes = {{
    {"llama2-7b", 32, 4096, 11008, 32000, 32, 32, 128, 1, false},
    {"llama2-13b", 40, 5120, 13824, 32000, 40, 40, 128, 1, false},
    {"llama2-70b", 80, 8192, 28672, 32000, 64, 8, 128, 1, false},
    {"llama3-8b", 32, 4096, 14336, 128256, 32, 8, 128, 1, false},
    {"llama3-70b", 80, 8192, 28672, 128256, 64, 8, 128, 1, false},
    {"llama3-405b", 126, 16384, 53248, 128256, 128, 8, 128, 1, false},
    {"mistral-7b", 32, 4096, 14336, 32000, 32, 8, 128, 1, false},
    {"mixtral-8x7b", 32, 4096, 14336, 32000, 32, 8, 128, 8, false},
    {"mixtral-8x22b", 56, 6144, 16384, 32768, 48, 8, 128, 8, false},
    {"gemma-2b", 18, 2048, 16384, 256128, 8, 1, 256, 1, true},
    {"gemma-7b", 28, 3072, 24576, 256128, 16, 16, 256, 1, true},
    {"custom", 2, 512, 1408, 2048, 8, 8, 64, 1, false},
}};

constexpr uint64_t kLargestNumber = 1u << 24;  // so that rows x columns stays far from 2^64

}  // namespace

std::span<const ModelShape> ModelShapes() { return kShapes; }

Result<ModelShape> FindModelShape(std::string_view name) {
  std::string names;
  for (const ModelShape& shape : kShapes) {
    if (shape.name == name) {
      return shape;
    }
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  return Fail(ErrorCode::kUsage, fmt::format("model '{}' is not one of {}", name, names));
}

Status ApplyShape(std::string_view text, ModelShape& shape) {
  REMAPLAB_ASSIGN(const std::vector<KeyValue> pairs, ParseKeyValues(text, "shape"));
  for (const auto& [key, value] : pairs) {
    const std::string what = fmt::format("shape: {}", key);
    uint64_t number = 0;
    REMAPLAB_ASSIGN(number, ParseUInt(value, what));
    if (number == 0 || number > kLargestNumber) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: {} is not from 1 to {}", what, number, kLargestNumber));
    }
    if (key == "hidden") {
      shape.hidden = number;
    } else if (key == "ffn") {
      shape.ffn = number;
    } else if (key == "vocabulary") {
      shape.vocabulary = number;
    } else if (key == "heads") {
      shape.heads = number;
    } else if (key == "kv_heads") {
      shape.kv_heads = number;
    } else if (key == "head_dimension") {
      shape.head_dimension = number;
    } else if (key == "experts") {
      shape.experts = number;
    } else {
      return Fail(ErrorCode::kUsage,
                  fmt::format("shape: '{}' is not one of hidden, ffn, vocabulary, heads, kv_heads, head_dimension, "
                              "experts",
                              key));
    }
  }
  return {};
}

}  // namespace remaplab
