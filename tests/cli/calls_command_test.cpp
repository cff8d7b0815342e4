#include <simdjson.h>

#include <boost/test/unit_test.hpp>

#include "base/vocabulary.h"
#include "tests/cli/remaplab_process.h"

namespace remaplab::testing {
namespace {

// Two steps of one thread: both launch command buffer 0x99, the second one after remapping one slot.
constexpr const char* kLog =
    ":3:hip_vm.cpp :1 : 10 us: [pid:7 tid:0x1]  hipMemMap ( 0x10000, 4096, 0, 0x5, 0 ) \n"
    ":3:hip_vm.cpp :1 : 14 us: [pid:7 tid:0x1] hipMemMap: Returned hipSuccess : \n"
    ":3:hip_vm.cpp :1 : 20 us: [pid:7 tid:0x1]  hipGraphLaunch ( 0x99, stream:<null> ) \n"
    ":3:hip_vm.cpp :1 : 21 us: [pid:7 tid:0x1] hipGraphLaunch: Returned hipSuccess : \n"
    ":3:hip_vm.cpp :1 : 30 us: [pid:7 tid:0x1]  hipMemUnmap ( 0x10000, 4096 ) \n"
    ":3:hip_vm.cpp :1 : 36 us: [pid:7 tid:0x1] hipMemUnmap: Returned hipErrorInvalidValue : \n"
    ":3:hip_vm.cpp :1 : 40 us: [pid:7 tid:0x1]  hipGraphLaunch ( 0x99, stream:<null> ) \n"
    ":3:hip_vm.cpp :1 : 41 us: [pid:7 tid:0x1] hipGraphLaunch: Returned hipSuccess : \n";

constexpr const char* kTrace =
    R"({"remaptrace":1,"source":"test","tool":"test","time_unit":"ns","granularity":2097152,"allocator":"vmm","meta":{}}
{"event":"program","id":1,"module":"m","device":0,"slots":[{"index":0,"size":100000}]}
{"event":"alloc","backing":1,"address":"0x10000","size":100000,"t":0}
{"event":"step","program":1,"step":0,"t":1000,"bind":[[0,1]]}
{"event":"step","program":1,"step":1,"t":2000,"bind":[]}
{"event":"end","identity":"backing","starts_mid_life":false,"lost_events":0,"counts":{}}
)";

struct Files {
  std::string folder = FreshFolder("calls_command");
  std::string log = folder + "/run.log";
  std::string trace = folder + "/run.remaptrace";

  Files() {
    WriteFile(log, kLog);
    WriteFile(trace, kTrace);
  }
};

BOOST_FIXTURE_TEST_SUITE(CallsCommandTest, Files)

BOOST_AUTO_TEST_CASE(json_has_every_call_kind_zeros_included) {
  const ProcessResult result = RunRemaplab({"calls", log, "--format", "json"});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::element json = parser.parse(result.output);
  BOOST_TEST(std::string_view(json["source"]) == "amd-log");
  const simdjson::dom::object calls = json["calls"];
  BOOST_TEST(calls.size() == kCallKindCount);
  for (const std::string_view kind : kCallKindNames) {
    BOOST_TEST(!calls[kind]["n"].error());
  }
  BOOST_TEST(uint64_t(calls["map"]["n"]) == 1u);
  BOOST_TEST(int64_t(calls["map"]["ns"]) == 4000);
  BOOST_TEST(uint64_t(calls["map"]["bytes"]) == 4096u);
  BOOST_TEST(uint64_t(calls["unmap"]["failed"]) == 1u);
  BOOST_TEST(uint64_t(calls["create"]["n"]) == 0u);
  const simdjson::dom::element buffer = json["launches"]["command_buffers"].at(0);
  BOOST_TEST(std::string_view(buffer["handle"]) == "0x99");
  BOOST_TEST(uint64_t(buffer["launches"]) == 2u);
  BOOST_TEST(uint64_t(buffer["calls"]["unmap"]) == 1u);
}

BOOST_AUTO_TEST_CASE(text_says_what_was_lost) {
  const ProcessResult result = RunRemaplab({"calls", log});
  BOOST_TEST(result.exit_code == 0);
  BOOST_TEST(result.output.find("amd-log: 4 driver calls of 1 thread in 1 process") == 0u);
  BOOST_TEST(result.output.find("durations include printing") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_replay_stands_beside_the_recording_kind_by_kind) {
  const ProcessResult result =
      RunRemaplab({"calls", log, "--against", trace, "--strategy", "skip_remap", "--format", "csv"});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  BOOST_TEST(result.output.find("1,m,skip_remap,map,1,4000,2,1,") != std::string::npos);
  BOOST_TEST(result.output.find("1,m,skip_remap,unmap,1,6000,2,0,0,2") != std::string::npos);
  BOOST_TEST(result.output.find("1,m,skip_remap,launch,2,2000,2,2,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(both_sides_are_one_json_value) {
  const ProcessResult result = RunRemaplab(
      {"calls", log, "--against", trace, "-s", "skip_remap", "-s", "full_remap", "--program", "m", "--format", "json"});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::element json = parser.parse(result.output);
  BOOST_TEST(uint64_t(json["recording"]["calls"]["launch"]["n"]) == 2u);
  BOOST_TEST(simdjson::dom::array(json["runs"]["runs"]).size() == 2u);
}

BOOST_AUTO_TEST_CASE(bad_input_and_bad_options_exit_with_2_and_name_the_file) {
  const std::string other = folder + "/other.txt";
  WriteFile(other, "nothing here\n");
  const ProcessResult unknown = RunRemaplab({"calls", other});
  BOOST_TEST(unknown.exit_code == 2);
  BOOST_TEST(unknown.output.empty());
  BOOST_TEST(unknown.errors.find(other) != std::string::npos);
  BOOST_TEST(RunRemaplab({"calls", log, "--against", trace}).exit_code == 2);
  BOOST_TEST(RunRemaplab({"calls", log, "--strategy", "skip_remap"}).exit_code == 2);
  BOOST_TEST(RunRemaplab({"calls", log, "--against", trace, "-s", "no_such"}).exit_code == 2);
  BOOST_TEST(RunRemaplab({"calls", log, "--against", trace, "-s", "skip_remap", "--devices", "0"}).exit_code == 2);
  BOOST_TEST(RunRemaplab({"calls"}).exit_code == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab::testing
