#include <signal.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/cli/remaplab_process.h"

namespace remaplab::testing {
namespace {

// Three steps of one program with two slots; the second slot moves on the second step.
constexpr const char* kSmallTrace =
    R"({"remaptrace":1,"source":"test","tool":"test","time_unit":"ns","granularity":2097152,"allocator":"vmm","meta":{}}
{"event":"program","id":1,"module":"m","device":0,"slots":[{"index":0,"size":100000},{"index":3,"size":4}]}
{"event":"alloc","backing":1,"address":"0x10000","size":100000,"t":0}
{"event":"alloc","backing":2,"address":"0x40000","size":4,"t":0}
{"event":"alloc","backing":3,"address":"0x50000","size":4,"t":0}
{"event":"step","program":1,"step":0,"t":1000,"bind":[[0,1],[3,2]]}
{"event":"step","program":1,"step":1,"t":2000,"bind":[[3,3]]}
{"event":"step","program":1,"step":2,"t":3000,"bind":[]}
{"event":"end","identity":"backing","starts_mid_life":false,"lost_events":0,"counts":{}}
)";

std::string SmallTrace(const std::string& folder) {
  const std::string path = folder + "/small.remaptrace";
  WriteFile(path, kSmallTrace);
  return path;
}

std::string Sqlite(const std::string& store, const std::string& sql) {
  const ProcessResult result = RunProgram({"sqlite3", store, sql});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  return result.output;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ReplayCommandTest)

BOOST_AUTO_TEST_CASE(runs_come_in_the_order_of_the_flags_with_every_call_kind) {
  const std::string trace = SmallTrace(FreshFolder("replay_order"));
  const ProcessResult result = RunRemaplab({"replay", trace, "--format", "json", "--cost-profile", "zero", "--strategy",
                                            "skip_remap", "--strategy", "full_remap"});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.parse(result.output);
  BOOST_TEST(document.at_pointer("/runs/0/strategy").get_string().value() == "skip_remap");
  BOOST_TEST(document.at_pointer("/runs/1/strategy").get_string().value() == "full_remap");
  const simdjson::dom::object calls = document.at_pointer("/runs/0/calls").get_object();
  BOOST_TEST(calls.size() == 15u);
  BOOST_TEST(document.at_pointer("/runs/0/calls/map").get_uint64().value() == 3u);
  BOOST_TEST(document.at_pointer("/runs/0/calls/unmap").get_uint64().value() == 1u);
  BOOST_TEST(document.at_pointer("/runs/0/calls/create").get_uint64().value() == 0u);
  BOOST_TEST(document.at_pointer("/runs/0/teardown/wait").get_uint64().value() == 1u);
  BOOST_TEST(document.at_pointer("/runs/0/teardown/address_free").get_uint64().value() == 1u);
  BOOST_TEST(document.at_pointer("/runs/0/gpu_step_ns").get_int64().value() == 1000);
  // Calls that cost nothing leave the GPU's own time.
  BOOST_TEST(document.at_pointer("/runs/0/step_ns/total").get_int64().value() == 2000);
}

BOOST_AUTO_TEST_CASE(the_null_backend_replays_too) {
  const std::string trace = SmallTrace(FreshFolder("replay_null"));
  const ProcessResult result = RunRemaplab({"replay", trace, "--backend", "null", "--strategy", "full_remap"});
  BOOST_TEST(result.exit_code == 0, result.errors);
}

BOOST_AUTO_TEST_CASE(the_store_has_the_promised_views_and_a_second_replay_adds_to_it) {
  const std::string folder = FreshFolder("replay_store");
  const std::string trace = SmallTrace(folder);
  const std::string store = folder + "/results.sqlite";
  for (const char* strategy : {"full_remap", "skip_remap"}) {
    const ProcessResult result = RunRemaplab({"replay", trace, "--store", store, "--strategy", strategy});
    BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  }
  BOOST_TEST(Sqlite(store, "SELECT count(*), min(status), max(status) FROM v_run") == "2|finished|finished\n");
  BOOST_TEST(Sqlite(store, "SELECT count(*) > 0 FROM v_step") == "1\n");
  BOOST_TEST(Sqlite(store, "SELECT count(*) > 0 FROM v_call_counts") == "1\n");
  BOOST_TEST(Sqlite(store, "PRAGMA integrity_check") == "ok\n");
  BOOST_TEST(!std::filesystem::exists(store + "-wal"));
}

BOOST_AUTO_TEST_CASE(bad_options_are_refused_before_anything_is_written) {
  const std::string folder = FreshFolder("replay_refusals");
  const std::string trace = SmallTrace(folder);
  const std::string store = folder + "/results.sqlite";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--strategy", "fool_remap"}, "unknown strategy 'fool_remap'"},
      {{"--strategy", "full_remap", "--strategy", "skip_remap(identity=name)"}, "identity=name is not one of"},
      {{"--strategy", "skip_remap+full_remap"}, "means nothing"},
      {{"--strategy", "copy_shadow(threshold=some)"}, "'some' is not a number of bytes"},
      {{"--strategy", "oracle"}, "not a strategy"},
      {{}, "at least one --strategy"},
      {{"--strategy", "full_remap", "--backend", "simm"}, "simm"},
      {{"--strategy", "full_remap", "--cost-profile", "h300"}, "h300"},
      {{"--strategy", "full_remap", "--granularity", "big"}, "--granularity"},
      {{"--strategy", "full_remap", "--devices", "0"}, "--devices"},
      {{"--strategy", "full_remap", "--program", "n"}, "no program 'n'"},
      {{"--strategy", "full_remap", "--format", "xml"}, "--format xml"},
  };
  for (const auto& [options, message] : cases) {
    std::vector<std::string> words = {"replay", trace, "--store", store};
    words.insert(words.end(), options.begin(), options.end());
    const ProcessResult result = RunRemaplab(words);
    BOOST_TEST(result.exit_code == 2, message);
    BOOST_TEST(result.errors.find(message) != std::string::npos, message << " is not in: " << result.errors);
    BOOST_TEST(result.output.empty());
    BOOST_TEST(!std::filesystem::exists(store), message);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_trace_is_named_with_its_line) {
  const std::string folder = FreshFolder("replay_bad_trace");
  const std::string path = folder + "/bad.remaptrace";
  WriteFile(path, std::string(kSmallTrace).replace(std::string(kSmallTrace).find("[3,3]"), 5, "[3,9]"));
  const ProcessResult result = RunRemaplab({"replay", path, "--strategy", "full_remap"});
  BOOST_TEST(result.exit_code == 2);
  BOOST_TEST(result.errors.find("bad.remaptrace") != std::string::npos);
  BOOST_TEST(result.errors.find("7") != std::string::npos, result.errors);
}

BOOST_AUTO_TEST_CASE(failed_steps_are_reported_and_the_next_step_works) {
  const std::string trace = SmallTrace(FreshFolder("replay_faults"));
  const ProcessResult result = RunRemaplab({"replay", trace, "--format", "json", "--verify", "full", "--strategy",
                                            "skip_remap", "--inject-faults", "unmap:call=1"});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::element run = parser.parse(result.output).at_pointer("/runs/0");
  BOOST_TEST(run.at_pointer("/failed_steps").get_uint64().value() == 1u);
  BOOST_TEST(run.at_pointer("/steps").get_uint64().value() == 3u);
  BOOST_TEST(run.at_pointer("/failures/0/call").get_string().value() == "unmap");
  BOOST_TEST(run.at_pointer("/failures/0/slot").get_uint64().value() == 3u);
  BOOST_TEST(run.at_pointer("/cleanup/unmap").get_uint64().value() == 1u);
  BOOST_TEST(run.at_pointer("/verification_failures").get_uint64().value() == 0u);
}

BOOST_AUTO_TEST_CASE(a_failing_cleanup_poisons_the_run) {
  const std::string trace = SmallTrace(FreshFolder("replay_poisoned"));
  const ProcessResult result = RunRemaplab({"replay", trace, "--strategy", "skip_remap", "--inject-faults",
                                            "unmap:call=1", "--inject-faults", "cleanup:unmap:call=1"});
  BOOST_TEST(result.exit_code == 1, result.errors);
}

BOOST_AUTO_TEST_CASE(a_killed_replay_leaves_a_sound_store_that_shows_the_run_as_unfinished) {
  const std::string folder = FreshFolder("replay_killed");
  const std::string path = folder + "/long.remaptrace";
  std::string text = kSmallTrace;
  text.erase(text.find("{\"event\":\"end\""));
  for (int step = 3; step < 400'000; ++step) {
    text += "{\"event\":\"step\",\"program\":1,\"step\":" + std::to_string(step) + ",\"t\":" + std::to_string(step) +
            "000,\"bind\":[[3," + std::to_string(2 + step % 2) + "]]}\n";
  }
  WriteFile(path, text);
  const std::string store = folder + "/results.sqlite";
  const pid_t child = fork();
  if (child == 0) {
    execl(REMAPLAB_BINARY, REMAPLAB_BINARY, "replay", path.c_str(), "--store", store.c_str(), "--strategy",
          "full_remap", static_cast<char*>(nullptr));
    _exit(127);
  }
  // As soon as the run row is there, in the middle of the replay.
  for (int i = 0; i < 2000 && !std::filesystem::exists(store); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ProcessResult seen;
  for (int i = 0; i < 2000 && seen.output != "1\n"; ++i) {
    seen = RunProgram({"sqlite3", "-readonly", store, "SELECT count(*) FROM v_run"});
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_REQUIRE_MESSAGE(WIFSIGNALED(status), "the replay ended before it could be killed");
  BOOST_TEST(Sqlite(store, "PRAGMA integrity_check") == "ok\n");
  BOOST_TEST(Sqlite(store, "SELECT status FROM v_run") == "running\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::testing
