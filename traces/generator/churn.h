// What moves in a generated run, and when.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace remaplab {

// Defaults are what the recordings of a plain JAX training loop show: state is donated and stays, while the batch, the
// output tuple and five metrics move on every step, because the metrics of a step are held until the next step is under
// way.
struct Churn {
  bool donated = true;       // false: every state leaf has an output buffer of its own, and all of them move
  uint32_t metrics = 5;      // scalar outputs of a step
  uint32_t generations = 1;  // how many steps metrics are held
  uint32_t inputs = 1;       // batch buffers, new on every step; 0: one batch that stays
  uint32_t prefetch = 1;     // how many steps ahead a batch is on the device
  uint32_t scratch = 4;      // small buffers that other little programs take and give back between two steps
  uint32_t moves = 0;        // state leaves, picked at random, that come back in other memory on a step
  uint32_t aliases = 0;      // further parameters that are the same array as the first ones
  uint32_t evaluate = 0;     // every so many steps, an evaluation program runs twice; 0: never
  uint32_t checkpoint =
      0;                  // every so many steps, the state is copied out leaf by leaf (donated) or held one step longer
  uint32_t pressure = 0;  // every so many steps, the allocator gives kept memory back to the driver: addresses come
                          // again with other memory behind them (VMM policies only)
};

// Changes fields by text, in order: "donated", "undonated", "steady" (nothing moves), and "metrics=5,inputs=1,...".
// kUsage, naming what there is.
Status ApplyChurn(std::string_view text, Churn& churn);

std::string ChurnText(const Churn& churn);  // all fields; reads back

}  // namespace remaplab
