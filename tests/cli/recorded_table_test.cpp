// The independent count of the recorded runs, row by row, by the commands that a user would type. The figures are those
// that came with the recordings: one device, granularity 2 MiB, calls over all steps.
#include <simdjson.h>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/cli/remaplab_process.h"

namespace remaplab::testing {
namespace {

struct Row {
  const char* run;
  const char* module;
  uint64_t slots, mapped_bytes, changed;
  uint64_t full_map, full_unmap, full_access;
  uint64_t skip_map, skip_unmap, skip_access, skip_wait;
  uint64_t shadow_map, shadow_unmap, shadow_access, shadow_copies;
};

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.run; }

const Row kRows[] = {
    {"tiny_vmm", "jit_step_fn", 72, 295698432, 203, 2160, 29, 30, 275, 87, 30, 29, 49, 0, 1, 1380},
    {"llama2_7b_l8_vmm", "jit_step_fn", 234, 26371686400, 203, 7020, 29, 30, 437, 58, 30, 29, 175, 0, 1, 3540},
    {"llama2_7b_l8_scan_vmm", "jit_step_fn", 45, 30203183104, 203, 1350, 29, 30, 248, 58, 30, 29, 34, 0, 1, 660},
    {"llama3_8b_l8_vmm", "jit_step_fn", 234, 37820039168, 203, 7020, 29, 30, 437, 58, 30, 29, 175, 0, 1, 3540},
    {"mt_llama2_7b_l8_vmm", "jit_train_step", 354, 26747076608, 493, 10620, 29, 30, 847, 87, 30, 29, 175, 0, 1, 10740},
    {"tiny_l12_nodonate_vmm", "jit_step_fn", 676, 2067791872, 39825, 40560, 59, 60, 40501, 59, 60, 59, 30961, 59, 60,
     19080},
};

std::string LogOf(const Row& row) {
  const std::string file = std::string(row.run) + ".log.gz";
  return std::string(row.run) == "tiny_vmm" ? ExampleFile(file) : SharedCapture(file);
}

uint64_t Number(simdjson::dom::element run, const char* pointer) { return run.at_pointer(pointer).get_uint64(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(RecordedTableTest)

BOOST_DATA_TEST_CASE(capture_and_replay_reproduce_the_independent_count, boost::unit_test::data::make(kRows), row) {
  const std::string log = LogOf(row);
  if (log.empty()) {
    BOOST_TEST_MESSAGE("SKIPPED: the shared recording " << row.run << " is not beside this checkout");
    return;
  }
  const std::string assignment =
      log.substr(0, log.size() - std::string(".log.gz").size()) + ".buffer-assignment.txt.gz";
  const std::string trace = FreshFolder(std::string("recorded_") + row.run) + "/run.remaptrace.zst";
  const ProcessResult captured =
      RunRemaplab({"capture", "--log", log, "--assignment", assignment, "--module", row.module, "-o", trace});
  BOOST_REQUIRE_MESSAGE(captured.exit_code == 0, captured.errors);

  const ProcessResult replayed =
      RunRemaplab({"replay", trace, "--program", row.module, "--format", "json", "--strategy", "full_remap",
                   "--strategy", "skip_remap", "--strategy", "skip_remap+copy_shadow(threshold=65536)"});
  BOOST_REQUIRE_MESSAGE(replayed.exit_code == 0, replayed.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.parse(replayed.output);
  const simdjson::dom::element full = document.at_pointer("/runs/0");
  const simdjson::dom::element skip = document.at_pointer("/runs/1");
  const simdjson::dom::element shadow = document.at_pointer("/runs/2");

  BOOST_TEST(Number(full, "/slots") == row.slots);
  BOOST_TEST(Number(full, "/bytes_mapped") == row.mapped_bytes);
  BOOST_TEST(Number(full, "/changed_slot_steps") == row.changed);
  BOOST_TEST(Number(full, "/calls/map") == row.full_map);
  BOOST_TEST(Number(full, "/calls/unmap") == row.full_unmap);
  BOOST_TEST(Number(full, "/calls/set_access") == row.full_access);
  BOOST_TEST(Number(skip, "/calls/map") == row.skip_map);
  BOOST_TEST(Number(skip, "/calls/unmap") == row.skip_unmap);
  BOOST_TEST(Number(skip, "/calls/set_access") == row.skip_access);
  BOOST_TEST(Number(skip, "/calls/wait") == row.skip_wait);
  BOOST_TEST(Number(shadow, "/slots") == row.slots);
  BOOST_TEST(Number(shadow, "/calls/map") == row.shadow_map);
  BOOST_TEST(Number(shadow, "/calls/unmap") == row.shadow_unmap);
  BOOST_TEST(Number(shadow, "/calls/set_access") == row.shadow_access);
  BOOST_TEST(Number(shadow, "/calls/copy") == row.shadow_copies);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::testing
