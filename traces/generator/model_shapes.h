// The shapes of public decoder models: what decides the sizes of weights, and so of slots.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace remaplab {

struct ModelShape {
  std::string_view name;
  uint32_t layers = 0;
  uint64_t hidden = 0;
  uint64_t ffn = 0;  // of one expert
  uint64_t vocabulary = 0;
  uint64_t heads = 0;
  uint64_t kv_heads = 0;
  uint64_t head_dimension = 0;
  uint64_t experts = 1;          // more than one: the layer has a router, and expert weights are stacked
  bool tied_embeddings = false;  // the output projection is the embedding
};

std::span<const ModelShape> ModelShapes();

// A known name, or "custom": a small model to change by ApplyShape. kUsage naming what there is.
Result<ModelShape> FindModelShape(std::string_view name);

// Changes fields by text: "hidden=512,ffn=1408,vocabulary=2048,heads=8,kv_heads=8,head_dimension=64,experts=1". kUsage.
Status ApplyShape(std::string_view text, ModelShape& shape);

}  // namespace remaplab
