// The recorded runs, against an independent count (captures/README.md).
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <ostream>

#include "tests/importers/importer_testing.h"

namespace remaplab {
namespace {

namespace data = boost::unit_test::data;
using boost::unit_test::precondition;

struct Row {
  const char* name;
  const char* module;
  size_t slots;
  uint64_t mapped_bytes;
  uint64_t changed;
  Calls full;
  Calls skip;
  Calls shadow;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

const Row kRows[] = {
    {"tiny_vmm", "jit_step_fn", 72, 295698432, 203, {2160, 29, 30}, {275, 87, 30, 29}, {49, 0, 1, 0, 1380}},
    {"llama2_7b_l8_vmm", "jit_step_fn", 234, 26371686400, 203, {7020, 29, 30}, {437, 58, 30, 29}, {175, 0, 1, 0, 3540}},
    {"llama2_7b_l8_scan_vmm",
     "jit_step_fn",
     45,
     30203183104,
     203,
     {1350, 29, 30},
     {248, 58, 30, 29},
     {34, 0, 1, 0, 660}},
    {"llama3_8b_l8_vmm", "jit_step_fn", 234, 37820039168, 203, {7020, 29, 30}, {437, 58, 30, 29}, {175, 0, 1, 0, 3540}},
    {"mt_llama2_7b_l8_vmm",
     "jit_train_step",
     354,
     26747076608,
     493,
     {10620, 29, 30},
     {847, 87, 30, 29},
     {175, 0, 1, 0, 10740}},
    {"tiny_l12_nodonate_vmm",
     "jit_step_fn",
     676,
     2067791872,
     39825,
     {40560, 59, 60},
     {40501, 59, 60, 59},
     {30961, 59, 60, 59, 19080}},
};

BOOST_TEST_DECORATOR(*precondition(HaveCaptures))
BOOST_DATA_TEST_CASE(counts_of_a_recorded_run_are_those_of_the_independent_count, data::make(kRows), row) {
  const auto imported = ImportCapture(row.name, {}, row.name);
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  for (const std::string& note : imported->report.notes) {
    BOOST_TEST_MESSAGE(row.name << ": " << note);
  }
  BOOST_TEST_MESSAGE(imported->trace.end.counts_json);
  const ModuleCounts counts = Count(imported->trace, row.module);
  BOOST_TEST(counts.slots == row.slots);
  BOOST_TEST(counts.mapped_bytes == row.mapped_bytes);
  BOOST_TEST(counts.changed == row.changed);
  BOOST_TEST(counts.full.map == row.full.map);
  BOOST_TEST(counts.full.unmap == row.full.unmap);
  BOOST_TEST(counts.full.set_access == row.full.set_access);
  BOOST_TEST(counts.skip.map == row.skip.map);
  BOOST_TEST(counts.skip.unmap == row.skip.unmap);
  BOOST_TEST(counts.skip.set_access == row.skip.set_access);
  BOOST_TEST(counts.skip.wait == row.skip.wait);
  BOOST_TEST(counts.shadow.map == row.shadow.map);
  BOOST_TEST(counts.shadow.unmap == row.shadow.unmap);
  BOOST_TEST(counts.shadow.set_access == row.shadow.set_access);
  BOOST_TEST(counts.shadow.copies == row.shadow.copies);
}

}  // namespace
}  // namespace remaplab
