// remaplab capture as a user types it: logs that are there, commands that run, and all that can be wrong with either.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "tests/cli/remaplab_process.h"

namespace remaplab::testing {
namespace {

const std::string kLog = ExampleFile("tiny_vmm.log.gz");
const std::string kAssignment = ExampleFile("tiny_vmm.buffer-assignment.txt.gz");

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The example's log, as a command that prints it.
std::string PlainLog(const std::string& folder) {
  const std::string path = folder + "/plain.log";
  RunProgram({"sh", "-c", fmt::format("gzip -dc '{}' > '{}'", kLog, path)});
  return path;
}

ProcessResult Shell(const std::string& script) { return RunProgram({"sh", "-c", script}); }

bool Valid(const std::string& trace) { return RunRemaplab({"trace", "validate", trace}).exit_code == 0; }

// Refused with exit code 2, and nothing is left of the output.
void CheckRefused(std::vector<std::string> arguments, std::string_view message) {
  const std::string folder = FreshFolder("capture_refused");
  arguments.insert(arguments.begin(), {"capture", "-o", folder + "/out.remaptrace.zst"});
  const ProcessResult result = RunRemaplab(arguments);
  BOOST_TEST(result.exit_code == 2);
  BOOST_TEST(Contains(result.errors, message), result.errors);
  BOOST_TEST(std::filesystem::is_empty(folder));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CaptureCommandTest)

BOOST_AUTO_TEST_CASE(plain_compressed_and_standard_input_give_the_same_programs) {
  const std::string folder = FreshFolder("capture_inputs");
  const std::string plain = PlainLog(folder);
  Shell(fmt::format("zstd -qf '{0}' -o '{0}.zst' 2>/dev/null || cp '{0}' '{0}.zst'", plain));
  std::vector<std::string> reports;
  for (const std::string& log : {kLog, plain, plain + ".zst"}) {
    const ProcessResult result = RunRemaplab({"capture", "--log", log, "-o", folder + "/out.remaptrace"});
    BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
    reports.push_back(result.errors);
  }
  const ProcessResult piped =
      Shell(fmt::format("'{}' capture --log - -o '{}/out.remaptrace' < '{}'", REMAPLAB_BINARY, folder, kLog));
  BOOST_REQUIRE_MESSAGE(piped.exit_code == 0, piped.errors);
  reports.push_back(piped.errors);
  for (const std::string& report : reports) {
    BOOST_TEST(report == reports[0]);
  }
  BOOST_TEST(Contains(reports[0], "208 steps of 10 programs"), reports[0]);
}

BOOST_AUTO_TEST_CASE(useless_input_is_refused_and_leaves_no_file) {
  const std::string folder = FreshFolder("capture_useless");
  WriteFile(folder + "/text", "hello\nworld\n");
  WriteFile(folder + "/empty", "");
  std::string damaged = ReadFile(kLog);
  damaged.replace(damaged.size() / 2, 64, std::string(64, 'x'));
  WriteFile(folder + "/damaged.gz", damaged);
  CheckRefused({"--log", folder + "/text"}, "not a log of XLA");
  CheckRefused({"--log", folder + "/empty"}, "the log is empty");
  CheckRefused({"--log", folder + "/damaged.gz"}, "damaged.gz: the gzip data is damaged");
  CheckRefused({"--log", folder + "/nowhere"}, "nowhere: cannot open");
  CheckRefused({"--log", kLog, "--module", "no_such_module"}, "no step of a module that matches 'no_such_module'");
  CheckRefused({"--log", kLog, "--module", "("}, "no regular expression");
  CheckRefused({"--log", kLog, "--device", "5"}, "no step on device 5");
  CheckRefused({"--log", kLog, "--assignment", kAssignment, "--module", "jit_init"}, "belongs to another module");
  CheckRefused({"--log", kLog, "--assignment", folder + "/text"}, "not a buffer assignment dump");
  CheckRefused({"--log", kLog, "--granularity", "0"}, "--granularity");
  CheckRefused({"--log", kLog, "--", "true"}, "only one of");
  CheckRefused({}, "is needed");
}

BOOST_AUTO_TEST_CASE(recordings_without_the_training_step_are_refused) {
  const std::string early = SharedCapture("tiny_l12_nodonate_bfc.log.gz");
  if (early.empty()) {
    BOOST_TEST_MESSAGE("SKIPPED: the shared recordings are not beside this checkout");
    return;
  }
  CheckRefused({"--log", early}, "the log ends early");
  CheckRefused({"--log", early, "--module", "jit_step_fn"}, "no step of a module that matches 'jit_step_fn'");
  CheckRefused({"--log", SharedCapture("tiny_profiled_alloc_lines_only.log.gz")}, "se_gpu_pjrt_client=3");
  CheckRefused({"--log", kLog, "--assignment", SharedCapture("llama2_7b_l8_vmm.buffer-assignment.txt.gz")},
               "belongs to another module");
}

BOOST_AUTO_TEST_CASE(a_trace_is_not_a_log) {
  const std::string folder = FreshFolder("capture_trace");
  const std::string trace = folder + "/t.remaptrace.zst";
  BOOST_REQUIRE(RunRemaplab({"capture", "--log", kLog, "-o", trace}).exit_code == 0);
  CheckRefused({"--log", trace}, "is a trace already");
}

BOOST_AUTO_TEST_CASE(a_commands_output_and_exit_code_pass_through) {
  const std::string folder = FreshFolder("capture_pass");
  const std::string log = PlainLog(folder);
  const std::string trace = folder + "/t.remaptrace.zst";
  const std::string script = fmt::format("echo to output; cat '{}' >&2; exit 7", log);
  const ProcessResult result = RunRemaplab({"capture", "-o", trace, "--", "sh", "-c", script});
  BOOST_TEST(result.exit_code == 7);
  BOOST_TEST(result.output == "to output\n");
  BOOST_TEST(result.errors.starts_with(ReadFile(log)));
  BOOST_TEST(Contains(result.errors, "the command itself exited with 7"));
  BOOST_TEST(Contains(result.errors, "208 steps"));
  BOOST_TEST(Valid(trace));
}

BOOST_AUTO_TEST_CASE(the_users_log_variables_are_kept_and_added_to) {
  const std::string folder = FreshFolder("capture_variables");
  const std::string log = PlainLog(folder);
  const ProcessResult result = Shell(fmt::format(
      "TF_CPP_VMODULE=mine=2,gpu_executable=9,command_buffer_thunk=1 '{}' capture -o '{}/t.remaptrace' -- sh -c "
      "'echo $TF_CPP_MIN_LOG_LEVEL $TF_CPP_VMODULE; cat {} >&2'",
      REMAPLAB_BINARY, folder, log));
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors.substr(result.errors.size() - 200));
  BOOST_TEST(result.output.starts_with("0 mine=2,gpu_executable=9,command_buffer_thunk=1,"));
  BOOST_TEST(Contains(result.output, ",se_gpu_pjrt_client=3"));
  BOOST_TEST(Contains(result.output, ",command_buffer_thunk=3"));
  BOOST_TEST(!Contains(result.output, "gpu_executable=5"));
}

BOOST_AUTO_TEST_CASE(assignments_come_from_the_users_dump_directory) {
  const std::string folder = FreshFolder("capture_dumps");
  const std::string log = PlainLog(folder);
  const std::string dump = folder + "/module_0042.jit_step_fn.sm_9.0_gpu_after_optimizations-buffer-assignment.txt";
  const ProcessResult result = Shell(
      fmt::format("XLA_FLAGS='--x=y --xla_dump_to={0}' '{1}' capture --module step_fn -o '{0}/t.remaptrace' -- sh -c "
                  "'gzip -dc {2} > {3}; cat {4} >&2'",
                  folder, REMAPLAB_BINARY, kAssignment, dump, log));
  BOOST_TEST(result.exit_code == 0);
  BOOST_TEST(Contains(result.errors, "jit_step_fn on device 0: 72 slots, 30 steps\n"));
}

BOOST_AUTO_TEST_CASE(a_killed_command_leaves_the_steps_seen) {
  const std::string folder = FreshFolder("capture_killed");
  const std::string trace = folder + "/t.remaptrace.zst";
  const std::string script = fmt::format("head -c 700001 '{}' >&2; kill -9 $$", PlainLog(folder));
  const ProcessResult result = RunRemaplab({"capture", "-o", trace, "--", "sh", "-c", script});
  BOOST_TEST(result.exit_code == 128 + 9);
  BOOST_TEST(Contains(result.errors, "killed by signal 9"));
  BOOST_TEST(Valid(trace));
}

BOOST_AUTO_TEST_CASE(a_signal_reaches_the_command_and_the_steps_seen_are_kept) {
  const std::string folder = FreshFolder("capture_signal");
  const std::string trace = folder + "/t.remaptrace.zst";
  // The command says what it got, and goes on for a while unless it gets something.
  const std::string command = fmt::format(
      "trap \"echo got it; exit 9\" TERM; cat {0} >&2; touch {1}/ready; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; "
      "done",
      PlainLog(folder), folder);
  const ProcessResult result =
      Shell(fmt::format("'{0}' capture -o {1} -- sh -c '{2}' & pid=$!; while [ ! -e {3}/ready ]; do sleep 0.1; done; "
                        "kill -TERM $pid; wait $pid",
                        REMAPLAB_BINARY, trace, command, folder));
  BOOST_TEST(result.exit_code == 9);
  BOOST_TEST(result.output == "got it\n");
  BOOST_TEST(Valid(trace));
}

BOOST_AUTO_TEST_CASE(a_command_that_cannot_run_is_our_error) {
  CheckRefused({"--", "/no/such/command"}, "cannot run '/no/such/command'");
}

BOOST_AUTO_TEST_CASE(a_command_without_steps_is_our_error_only_if_it_succeeded_itself) {
  const std::string folder = FreshFolder("capture_stepless");
  const std::string trace = folder + "/t.remaptrace.zst";
  const ProcessResult fine = RunRemaplab({"capture", "-o", trace, "--", "true"});
  BOOST_TEST(fine.exit_code == 2);
  BOOST_TEST(Contains(fine.errors, "the log is empty"));
  const ProcessResult failed = RunRemaplab({"capture", "-o", trace, "--", "sh", "-c", "exit 4"});
  BOOST_TEST(failed.exit_code == 4);
  BOOST_TEST(std::filesystem::is_empty(folder));
}

BOOST_AUTO_TEST_CASE(check_says_what_is_missing_and_which_variable_brings_it) {
  const ProcessResult good = RunRemaplab({"capture", "--check", kLog});
  BOOST_TEST(good.exit_code == 0);
  BOOST_TEST(Contains(good.output, "capture --log makes a trace of this log"));
  const std::string folder = FreshFolder("capture_check");
  Shell(fmt::format("gzip -dc '{}' | grep -v 'Buffer allocations: ' > '{}/tableless.log'", kLog, folder));
  const ProcessResult bad = RunRemaplab({"capture", "--check", folder + "/tableless.log"});
  BOOST_TEST(bad.exit_code == 1);
  BOOST_TEST(Contains(bad.output, "se_gpu_pjrt_client=3"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::testing
