// Each strategy's plan for one small program, step by step, as a text that a person can review: tests/golden/plans.
// After a change that is meant: REMAPLAB_UPDATE_GOLDEN=1 ctest --preset dev -R plans, then read the difference.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <sstream>

#include "tests/engine/engine_rig.h"
#include "tests/golden_file.h"

namespace remaplab {
namespace {

const std::vector<SlotShape> kSlots = {{.size = 4 * kMiB, .kind = SlotKind::kTemp},
                                       {.size = 4, .kind = SlotKind::kParameter, .access = Access::kRead},
                                       {.size = 65536, .kind = SlotKind::kParameter},
                                       {.size = kGranularity, .kind = SlotKind::kParameter, .access = Access::kBoth},
                                       {.size = kGranularity, .kind = SlotKind::kParameter, .access = Access::kBoth},
                                       {.size = 64, .kind = SlotKind::kOutput, .access = Access::kWrite}};

struct ScriptedStep {
  const char* what;
  std::vector<uint32_t> moved;   // get new memory
  std::vector<uint32_t> back;    // get the memory of the first step back
  std::vector<uint32_t> absent;  // have none from here on
};

const std::vector<ScriptedStep> kSteps = {
    {"all slots get memory", {0, 1, 2, 3, 4, 5}, {}, {}},
    {"nothing changes", {}, {}, {}},
    {"slots 1, 2 and 4 move: two runs", {1, 2, 4}, {}, {}},
    {"slot 1 moves", {1}, {}, {}},
    {"slots 2 and 4 get their first memory back, slot 1 moves", {1}, {2, 4}, {}},
    {"slots 1 and 5 move", {1, 5}, {}, {}},
    {"slot 3 has no memory", {1}, {}, {3}},
    {"slot 3 has memory again", {1}, {3}, {}},
    {"slot 1 moves", {1}, {}, {}},
    {"slots 0 and 1 move", {0, 1}, {}, {}},
};

std::string Scene() {
  std::string text = "program:\n";
  for (size_t slot = 0; slot < kSlots.size(); ++slot) {
    text += fmt::format("  slot {}: {} bytes, {}, access {}\n", slot, kSlots[slot].size, Name(kSlots[slot].kind),
                        Name(kSlots[slot].access));
  }
  return text;
}

std::string Indented(const std::string& lines) {
  std::string text;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    text += "  " + line + "\n";
  }
  return text;
}

std::string PlansOf(const std::string& strategy, const RigOptions& options, uint32_t devices) {
  EngineRig rig(strategy, MakeProgram(kSlots, devices), options);
  std::string text = fmt::format("{}, {} device{}, driver {}\n{}", strategy, devices, devices == 1 ? "" : "s",
                                 options.driver, Scene());
  std::vector<BackingId> first;
  for (size_t i = 0; i < kSteps.size(); ++i) {
    const ScriptedStep& step = kSteps[i];
    EngineRig::Bindings bindings = rig.Move(step.moved);
    if (i == 0) {
      for (const auto& binding : bindings) {
        first.push_back(*binding.second);
      }
    }
    for (const uint32_t slot : step.back) {
      bindings.emplace_back(slot, first[slot]);
    }
    for (const uint32_t slot : step.absent) {
      bindings.emplace_back(slot, std::nullopt);
    }
    rig.Step(bindings);
    text += fmt::format("step {}: {}\n{}", i + 1, step.what, Indented(rig.session().LastPlanText()));
  }
  if (const std::string resolved = rig.session().strategy().slots->Resolved(); !resolved.empty()) {
    text += "resolved: " + resolved + "\n";
  }
  BOOST_TEST(Succeeded(rig.verify().Finish()));
  rig.Teardown();
  text += "teardown:\n" + Indented(rig.session().LastPlanText());
  rig.ReleaseAll();
  BOOST_TEST(rig.verify().mismatch_count() == 0u);
  BOOST_TEST(rig.sim().outstanding().empty());
  return text;
}

std::string FileName(std::string strategy, const std::string& suffix) {
  for (char& c : strategy) {
    c = c == '(' || c == '=' || c == ',' ? '-' : c;
  }
  std::erase(strategy, ')');
  return "plans/" + strategy + suffix + ".txt";
}

BOOST_AUTO_TEST_SUITE(plans)

const std::vector<std::string> kStrategies = {"full_remap",
                                              "skip_remap",
                                              "skip_remap(identity=address)",
                                              "skip_remap(access=run)",
                                              "skip_remap(access=slot)",
                                              "copy_shadow(threshold=64)",
                                              "skip_remap+copy_shadow(threshold=65536)",
                                              "skip_remap+copy_shadow(threshold=65536,direction=by_access)",
                                              "skip_remap+copy_shadow(threshold=auto)",
                                              "no_remap",
                                              "skip_temp",
                                              "skip_profiled(steps=3)",
                                              "two_ranges",
                                              "cached_sets(k=2)",
                                              "cached_sets(k=2)+copy_shadow(threshold=4)",
                                              "adaptive"};

BOOST_DATA_TEST_CASE(plans_are_those_that_were_reviewed, boost::unit_test::data::make(kStrategies), strategy) {
  CheckGolden(FileName(strategy, ""), PlansOf(strategy, {}, 1));
}

BOOST_AUTO_TEST_CASE(plans_for_peers_and_for_a_driver_that_unmaps_one_by_one_are_those_that_were_reviewed) {
  for (const char* strategy : {"full_remap", "skip_remap"}) {
    CheckGolden(FileName(strategy, ".rocm-6.2-two-devices"), PlansOf(strategy, {.driver = "rocm-6.2"}, 2));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
