// The slot policy of strategies that treat every slot alike.
#include <algorithm>

#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

class UniformSlots final : public SlotPolicy {
 public:
  explicit UniformSlots(SlotClass slot_class) : class_(slot_class) {}

  bool Classify(const PlanView& view, std::span<SlotClass> classes) override {
    if (view.fresh_table) {
      std::fill(classes.begin(), classes.end(), class_);
    }
    return view.fresh_table;
  }

 private:
  SlotClass class_;
};

}  // namespace

std::unique_ptr<SlotPolicy> MakeUniformSlots(SlotClass slot_class) {
  return std::make_unique<UniformSlots>(slot_class);
}

}  // namespace remaplab
