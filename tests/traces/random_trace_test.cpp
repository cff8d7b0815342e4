#include "traces/generator/random_trace.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "tests/traces/trace_testing.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace remaplab {
namespace {

// What the promised features look like in a trace; summed over seeds.
struct Features {
  uint64_t redeclared = 0;
  uint64_t ended = 0;
  uint64_t empty_tables = 0;
  uint64_t unbound = 0;
  uint64_t aliased = 0;
  uint64_t same_address_other_backing = 0;  // a slot's consecutive bindings
  uint64_t unknown_address = 0;
  uint64_t revived = 0;
  uint64_t other_spaces = 0;
  uint64_t identity_address = 0;
  uint64_t two_programs = 0;
};

void Count(const Trace& trace, Features& features) {
  features.identity_address += trace.end.identity == TraceIdentity::kAddress ? 1 : 0;
  std::map<uint32_t, int> declarations;
  for (const TraceProgram& program : trace.programs) {
    features.redeclared += declarations[program.id]++ > 0 ? 1 : 0;
    features.empty_tables += program.slots.empty() ? 1 : 0;
    for (const TraceSlot& slot : program.slots) {
      features.other_spaces += slot.space > 0 ? 1 : 0;
    }
  }
  features.two_programs += declarations.size() > 1 ? 1 : 0;
  std::set<uint32_t> allocated;
  for (const Trace::Event& event : trace.events) {
    features.ended += event.type == TraceEventType::kProgramEnd ? 1 : 0;
    features.revived += event.type == TraceEventType::kAlloc && !allocated.insert(event.ref).second ? 1 : 0;
  }
  for (const uint64_t address : trace.backing_address) {
    features.unknown_address += address == kUnknownAddress ? 1 : 0;
  }
  std::map<uint32_t, std::vector<uint32_t>> current;
  for (size_t step = 0; step < trace.steps(); ++step) {
    const TraceProgram& program = trace.programs[trace.step_program[step]];
    auto& bound = current[trace.step_program[step]];
    bound.resize(program.slots.size(), kUnboundSlot);
    const auto slots = trace.BoundSlots(step);
    const auto backings = trace.BoundBackings(step);
    for (size_t i = 0; i < slots.size(); ++i) {
      const uint32_t before = bound[slots[i]];
      const uint32_t after = backings[i];
      bound[slots[i]] = after;
      if (after == kUnboundSlot) {
        ++features.unbound;
        continue;
      }
      BOOST_REQUIRE_EQUAL(trace.backing_size[after], program.slots[slots[i]].size);
      if (before != kUnboundSlot && trace.backing_address[before] == trace.backing_address[after] &&
          trace.backing_address[after] != kUnknownAddress) {
        ++features.same_address_other_backing;
      }
    }
    std::set<uint32_t> distinct;
    for (const uint32_t backing : bound) {
      features.aliased += backing != kUnboundSlot && !distinct.insert(backing).second ? 1 : 0;
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RandomTraceTest)

BOOST_AUTO_TEST_CASE(every_seed_gives_a_valid_trace_and_together_they_show_every_feature) {
  Features features;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Trace trace = GenerateRandomTrace(seed);
    BOOST_REQUIRE(trace.end.present);
    BOOST_REQUIRE_GE(trace.steps(), 1u);
    BOOST_REQUIRE_LE(trace.steps(), RandomTraceLimits{}.steps);
    Count(trace, features);
  }
  BOOST_TEST(features.redeclared > 100u);
  BOOST_TEST(features.ended > 100u);
  BOOST_TEST(features.empty_tables > 10u);
  BOOST_TEST(features.unbound > 100u);
  BOOST_TEST(features.aliased > 100u);
  BOOST_TEST(features.same_address_other_backing > 100u);
  BOOST_TEST(features.unknown_address > 100u);
  BOOST_TEST(features.revived > 100u);
  BOOST_TEST(features.other_spaces > 100u);
  BOOST_TEST(features.identity_address > 100u);
  BOOST_TEST(features.two_programs > 100u);
}

BOOST_AUTO_TEST_CASE(switches_keep_features_out) {
  Features features;
  RandomTraceLimits limits;
  limits.programs = 1;
  limits.redeclare = limits.unbound_slots = limits.aliases = limits.reissued_addresses = limits.unknown_addresses =
      false;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Count(GenerateRandomTrace(seed, limits), features);
  }
  BOOST_TEST(features.redeclared == 0u);
  BOOST_TEST(features.ended == 0u);
  BOOST_TEST(features.unbound == 0u);
  BOOST_TEST(features.aliased == 0u);
  BOOST_TEST(features.same_address_other_backing == 0u);
  BOOST_TEST(features.unknown_address == 0u);
  BOOST_TEST(features.two_programs == 0u);
}

BOOST_AUTO_TEST_CASE(a_seed_is_one_trace_on_every_machine) {
  BOOST_TEST(GenerateRandomTrace(1).xxh3 == "31ffad60d37a574410ecad996f9367b3");
  BOOST_TEST(GenerateRandomTrace(1).xxh3 != GenerateRandomTrace(2).xxh3);
}

BOOST_AUTO_TEST_CASE(two_backings_that_exist_together_never_share_an_address) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Trace trace = GenerateRandomTrace(seed);
    std::map<uint64_t, uint32_t> owner;
    for (const Trace::Event& event : trace.events) {
      if (event.type == TraceEventType::kAlloc && trace.backing_address[event.ref] != kUnknownAddress) {
        const auto [found, fresh] = owner.emplace(trace.backing_address[event.ref], event.ref);
        BOOST_REQUIRE(fresh || found->second == event.ref);
      } else if (event.type == TraceEventType::kFree) {
        owner.erase(trace.backing_address[event.ref]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_random_trace_survives_the_round_trip_through_a_file) {
  const TemporaryFolder folder;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Trace trace = GenerateRandomTrace(seed);
    Must(WriteTrace(trace, folder.File("t.zst")));
    BOOST_TEST(TraceToText(Must(LoadTrace(folder.File("t.zst")))) == TraceToText(trace));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
