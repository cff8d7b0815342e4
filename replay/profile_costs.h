// A cost profile as the engine's strategies see it.
#pragma once

#include "backends/profiles/cost_profile.h"
#include "engine/cost_model.h"

namespace remaplab {

class ProfileCosts final : public CostModel {
 public:
  explicit ProfileCosts(const CostProfile& profile) : table_(profile) {}

  int64_t CallNs(const CallShape& shape) const override;

 private:
  CostTable table_;
};

}  // namespace remaplab
