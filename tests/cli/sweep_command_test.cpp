// Sweeps as a user and a cluster run them: started, stopped, killed, started again, split into shards.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "tests/cli/remaplab_process.h"

namespace remaplab::testing {
namespace {

// `steps` steps of one program with two slots, of which the second moves on every step.
std::string MovingTrace(const std::string& folder, int steps) {
  std::ostringstream text;
  text << R"({"remaptrace":1,"source":"test","tool":"test","time_unit":"ns","granularity":2097152,"meta":{}})" << '\n'
       << R"({"event":"program","id":1,"module":"m","slots":[{"index":0,"size":100000},{"index":3,"size":4}]})" << '\n';
  for (int backing = 0; backing < 3; ++backing) {
    text << R"({"event":"alloc","backing":)" << backing << R"(,"address":"0x)" << backing + 1 << "0000"
         << R"(","size":100000,"t":0})" << '\n';
  }
  for (int step = 0; step < steps; ++step) {
    text << R"({"event":"step","program":1,"step":)" << step << R"(,"t":)" << 1000 * (step + 1)
         << (step == 0       ? R"(,"bind":[[0,0],[3,1]]})"
             : step % 2 == 1 ? R"(,"bind":[[3,2]]})"
                             : R"(,"bind":[[3,1]]})")
         << '\n';
  }
  text << R"({"event":"end","identity":"backing","starts_mid_life":false,"lost_events":0,"counts":{}})" << '\n';
  const std::string path = folder + "/moving.remaptrace";
  WriteFile(path, text.str());
  return path;
}

// 2 profiles x 4 strategies
std::string PlanFile(const std::string& folder) {
  const std::string path = folder + "/night.plan";
  WriteFile(path,
            "trace moving.remaptrace\n"
            "strategy full_remap\n"
            "strategy skip_remap\n"
            "strategy skip_remap+copy_shadow(threshold={threshold})\n"
            "threshold 16\nthreshold 64KiB\n"
            "cost-profile h200\ncost-profile zero\n");
  return path;
}

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> Query(const std::string& store, const std::string& sql) {
  const ProcessResult result = RunProgram({"sqlite3", store, sql});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  return Lines(result.output);
}

std::vector<std::string> FinishedCells(const std::string& store) {
  return Query(store, "SELECT cell FROM v_run WHERE status = 'finished' ORDER BY cell");
}

ProcessResult Sweep(const std::vector<std::string>& environment, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"env", "-u", "TMPDIR"};
  words.insert(words.end(), environment.begin(), environment.end());
  words.insert(words.end(), {REMAPLAB_BINARY, "sweep"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return RunProgram(words);
}

// What is left of a store when everything that differs between two processes is taken away.
std::vector<std::string> Results(const std::string& store) {
  return Query(store,
               "SELECT r.cell, r.position, r.strategy, r.cost_profile, r.step_ns_total, c.kind, c.n, c.duration "
               "FROM v_run AS r JOIN v_call_counts AS c USING (run_id) ORDER BY r.cell, c.kind, c.phase");
}

pid_t StartSweep(const std::vector<std::string>& arguments) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> words = {REMAPLAB_BINARY, "sweep"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return child;
}

// Waits until the store holds a finished cell, so that a signal finds the sweep at work.
void AwaitFirstCell(const std::string& store) {
  for (int tries = 0; tries < 1000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!std::filesystem::exists(store)) {
      continue;
    }
    const ProcessResult count =
        RunProgram({"sqlite3", "-cmd", ".timeout 5000", store, "SELECT count(*) FROM run WHERE status = 'finished'"});
    if (count.exit_code == 0 && count.output != "0\n") {
      return;
    }
  }
  BOOST_FAIL("no cell was finished");
}

int ExitCodeOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SweepCommandTest)

BOOST_AUTO_TEST_CASE(a_sweep_started_again_has_nothing_to_do) {
  const std::string folder = FreshFolder("sweep_again");
  MovingTrace(folder, 20);
  const std::string store = folder + "/s.sqlite";
  const ProcessResult first = Sweep({}, {PlanFile(folder), "--store", store});
  BOOST_REQUIRE_MESSAGE(first.exit_code == 0, first.errors);
  BOOST_TEST(first.output == "8 cells run, 0 finished before, 0 failed; " + store + "\n");
  BOOST_TEST(first.errors.find("8/8 cells") != std::string::npos);
  const ProcessResult second = Sweep({}, {PlanFile(folder), "--store", store});
  BOOST_TEST(second.output == "0 cells run, 8 finished before, 0 failed; " + store + "\n");
  BOOST_TEST(FinishedCells(store).size() == 8);
}

BOOST_AUTO_TEST_CASE(cells_added_to_a_plan_are_all_that_is_run) {
  const std::string folder = FreshFolder("sweep_more");
  const std::string trace = MovingTrace(folder, 20);
  const std::string store = folder + "/s.sqlite";
  BOOST_TEST(Sweep({}, {"--trace", trace, "-s", "full_remap", "--store", store}).exit_code == 0);
  const ProcessResult more = Sweep({}, {"--trace", trace, "-s", "full_remap", "-s", "skip_remap", "--store", store});
  BOOST_TEST(more.output == "1 cells run, 1 finished before, 0 failed; " + store + "\n");
}

BOOST_AUTO_TEST_CASE(several_workers_get_what_one_gets) {
  const std::string folder = FreshFolder("sweep_jobs");
  MovingTrace(folder, 200);
  const std::string plan = PlanFile(folder);
  BOOST_REQUIRE(Sweep({}, {plan, "--store", folder + "/one.sqlite"}).exit_code == 0);
  BOOST_REQUIRE(Sweep({}, {plan, "--store", folder + "/four.sqlite", "--jobs", "4"}).exit_code == 0);
  const std::vector<std::string> one = Results(folder + "/one.sqlite");
  BOOST_TEST(one == Results(folder + "/four.sqlite"), boost::test_tools::per_element());
  BOOST_TEST(one.size() > 8u);
}

BOOST_AUTO_TEST_CASE(shards_of_every_scheduler_are_disjoint_and_complete) {
  const std::string folder = FreshFolder("sweep_shards");
  MovingTrace(folder, 20);
  const std::string plan = PlanFile(folder);
  BOOST_REQUIRE(Sweep({}, {plan, "--store", folder + "/whole.sqlite"}).exit_code == 0);
  const std::vector<std::string> whole = FinishedCells(folder + "/whole.sqlite");

  using Setting = std::vector<std::string>;
  const std::vector<std::pair<std::string, std::function<Setting(int)>>> schedulers = {
      {"Slurm array",
       [](int i) {
         return Setting{"SLURM_ARRAY_TASK_ID=" + std::to_string(1 + 2 * i),
                        "SLURM_ARRAY_TASK_COUNT=3",
                        "SLURM_ARRAY_TASK_MIN=1",
                        "SLURM_ARRAY_TASK_STEP=2",
                        "SLURM_PROCID=0",
                        "SLURM_NTASKS=1"};
       }},
      {"srun",
       [](int i) {
         return Setting{"SLURM_PROCID=" + std::to_string(i), "SLURM_NTASKS=3"};
       }},
      {"Open MPI",
       [](int i) {
         return Setting{"OMPI_COMM_WORLD_RANK=" + std::to_string(i), "OMPI_COMM_WORLD_SIZE=3"};
       }},
      {"PMI",
       [](int i) {
         return Setting{"PMI_RANK=" + std::to_string(i), "PMI_SIZE=3"};
       }},
  };
  for (const auto& [name, setting] : schedulers) {
    std::multiset<std::string> cells;
    for (int i = 0; i < 3; ++i) {
      const ProcessResult result = Sweep(setting(i), {plan, "--store", folder + "/" + name + ".sqlite"});
      BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
      const std::string said = "shard " + std::to_string(i) + "/3 from " + name + " (";
      BOOST_TEST(result.errors.find(said) != std::string::npos, result.errors);
      for (const std::string& cell :
           FinishedCells(folder + "/" + name + ".shard-" + std::to_string(i) + "-of-3.sqlite")) {
        cells.insert(cell);
      }
    }
    BOOST_TEST(std::vector<std::string>(cells.begin(), cells.end()) == whole, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(merge_says_which_shard_is_missing_and_which_is_there_twice) {
  const std::string folder = FreshFolder("sweep_merge");
  MovingTrace(folder, 20);
  const std::string plan = PlanFile(folder);
  const auto shard = [&](const std::string& store, const std::string& which) {
    BOOST_REQUIRE(Sweep({}, {plan, "--store", folder + "/" + store + ".sqlite", "--shard", which}).exit_code == 0);
  };
  shard("s", "0/3");
  shard("s", "2/3");
  shard("again", "2/3");
  const std::string all = folder + "/all.sqlite";
  const ProcessResult partial = RunRemaplab({"merge", all, folder + "/s.shard-0-of-3.sqlite",
                                             folder + "/s.shard-2-of-3.sqlite", folder + "/again.shard-2-of-3.sqlite"});
  BOOST_TEST(partial.exit_code == 1);
  BOOST_TEST(partial.errors.find("shard 1/3 missing: 3 of 3 cells missing") != std::string::npos, partial.errors);
  BOOST_TEST(partial.errors.find("shard 2/3 duplicate: 0 of 2 cells missing, 2 more than once") != std::string::npos,
             partial.errors);
  shard("s", "1/3");
  const ProcessResult whole = RunRemaplab({"merge", all, folder + "/s.shard-1-of-3.sqlite"});
  BOOST_TEST(whole.exit_code == 0, whole.errors);
  BOOST_TEST(whole.errors.find("8 of 8 cells, 2 of them more than once") != std::string::npos, whole.errors);
}

BOOST_AUTO_TEST_CASE(the_shard_on_the_command_line_goes_first) {
  const std::string folder = FreshFolder("sweep_shard_flag");
  MovingTrace(folder, 20);
  const ProcessResult result = Sweep({"SLURM_PROCID=2", "SLURM_NTASKS=4"},
                                     {PlanFile(folder), "--store", folder + "/s.sqlite", "--shard", "1/2"});
  BOOST_TEST(result.errors.find("shard 1/2 from --shard") != std::string::npos);
  BOOST_TEST(FinishedCells(folder + "/s.shard-1-of-2.sqlite").size() == 4);
}

BOOST_AUTO_TEST_CASE(a_shard_is_written_in_scratch_and_moved) {
  const std::string folder = FreshFolder("sweep_scratch");
  MovingTrace(folder, 20);
  std::filesystem::create_directory(folder + "/node");
  const ProcessResult result = Sweep({"SLURM_TMPDIR=" + folder + "/node"},
                                     {PlanFile(folder), "--store", folder + "/s.sqlite", "--shard", "0/2"});
  BOOST_REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  BOOST_TEST(std::filesystem::is_empty(folder + "/node"));
  BOOST_TEST(FinishedCells(folder + "/s.shard-0-of-2.sqlite").size() == 4);
  const ProcessResult again = Sweep({"SLURM_TMPDIR=" + folder + "/node"},
                                    {PlanFile(folder), "--store", folder + "/s.sqlite", "--shard", "0/2"});
  BOOST_TEST(again.output.starts_with("0 cells run, 4 finished before"), again.output);
}

BOOST_AUTO_TEST_CASE(a_shard_is_moved_between_file_systems) {
  if (!std::filesystem::is_directory("/dev/shm")) {
    BOOST_TEST_MESSAGE("SKIPPED: no second file system to move a shard from");
    return;
  }
  const std::string folder = FreshFolder("sweep_devices");
  MovingTrace(folder, 20);
  const std::string scratch = "/dev/shm/remaplab-sweep-test-" + std::to_string(getpid());
  std::filesystem::create_directory(scratch);
  const ProcessResult result =
      Sweep({}, {PlanFile(folder), "--store", folder + "/s.sqlite", "--shard", "0/2", "--scratch", scratch});
  BOOST_TEST(result.exit_code == 0, result.errors);
  BOOST_TEST(FinishedCells(folder + "/s.shard-0-of-2.sqlite").size() == 4);
  BOOST_TEST(std::filesystem::is_empty(scratch));
  std::filesystem::remove_all(scratch);
}

BOOST_AUTO_TEST_CASE(sigterm_finishes_the_cell_and_a_new_start_goes_on) {
  const std::string folder = FreshFolder("sweep_sigterm");
  MovingTrace(folder, 20'000);
  const std::string store = folder + "/s.sqlite";
  const std::vector<std::string> arguments = {PlanFile(folder), "--repetitions", "50", "--store", store};
  const pid_t child = StartSweep(arguments);
  AwaitFirstCell(store);
  kill(child, SIGTERM);
  BOOST_TEST(ExitCodeOf(child) == 2);
  const size_t finished = FinishedCells(store).size();
  BOOST_TEST(finished >= 1u);
  BOOST_TEST(finished < 400u);
  BOOST_TEST(Query(store, "SELECT count(*) FROM v_run WHERE status <> 'finished'")[0] == "0");
  BOOST_TEST(!std::filesystem::exists(store + "-wal"));

  std::vector<std::string> fewer = arguments;
  fewer[2] = "1";
  BOOST_TEST(Sweep({}, fewer).exit_code == 0);
  BOOST_TEST(Query(store, "SELECT count(*) - count(DISTINCT cell) FROM v_run WHERE status = 'finished'")[0] == "0");
}

BOOST_AUTO_TEST_CASE(a_killed_shard_goes_on_from_its_scratch) {
  const std::string folder = FreshFolder("sweep_sigkill");
  MovingTrace(folder, 20'000);
  std::filesystem::create_directory(folder + "/node");
  const std::vector<std::string> arguments = {PlanFile(folder),     "--repetitions", "10",  "--store",
                                              folder + "/s.sqlite", "--shard",       "0/2", "--scratch",
                                              folder + "/node"};
  const pid_t child = StartSweep(arguments);
  std::string working;
  for (int tries = 0; tries < 1000 && working.empty(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/node")) {
      working = entry.path().extension() == ".partial" ? entry.path().string() : working;
    }
  }
  BOOST_REQUIRE(!working.empty());
  AwaitFirstCell(working);
  kill(child, SIGKILL);
  BOOST_TEST(ExitCodeOf(child) == 128 + SIGKILL);
  BOOST_TEST(!std::filesystem::exists(folder + "/s.shard-0-of-2.sqlite"));
  const ProcessResult again = Sweep({}, arguments);
  BOOST_TEST(again.exit_code == 0, again.errors);
  BOOST_TEST(again.output.find(" 0 finished before") == std::string::npos, again.output);
  BOOST_TEST(FinishedCells(folder + "/s.shard-0-of-2.sqlite").size() == 40);
  BOOST_TEST(std::filesystem::is_empty(folder + "/node"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_run_leaves_no_store) {
  const std::string folder = FreshFolder("sweep_refused");
  const std::string trace = MovingTrace(folder, 20);
  const std::string store = folder + "/s.sqlite";
  const std::vector<std::vector<std::string>> refused = {
      {"--trace", trace, "--store", store},
      {"-s", "full_remap", "--store", store},
      {"--trace", trace, "-s", "no_such_strategy", "--store", store},
      {"--trace", trace, "-s", "full_remap", "--program", "other", "--store", store},
      {"--trace", folder + "/absent", "-s", "full_remap", "--store", store},
      {"--trace", trace, "-s", "full_remap", "--shard", "2/2", "--store", store},
      {"--trace", trace, "-s", "full_remap", "--jobs", "0", "--store", store},
      {"--trace", trace, "-s", "full_remap", "--backend", "host", "--jobs", "2", "--store", store},
      {"--trace", trace, "-s", "full_remap"},
      {folder + "/absent.plan", "--store", store},
      {folder, "--store", store},
  };
  for (const std::vector<std::string>& arguments : refused) {
    const ProcessResult result = Sweep({}, arguments);
    BOOST_TEST(result.exit_code == 2, arguments.back());
    BOOST_TEST(!result.errors.empty());
    BOOST_TEST(!std::filesystem::exists(store));
  }
  BOOST_TEST(Sweep({"PMI_RANK=x", "PMI_SIZE=2"}, {"--trace", trace, "-s", "full_remap", "--store", store}).exit_code ==
             2);
}

BOOST_AUTO_TEST_CASE(failed_cells_make_the_exit_code_1) {
  const std::string folder = FreshFolder("sweep_failed");
  const std::string trace = MovingTrace(folder, 20);
  const ProcessResult result = Sweep({}, {"--trace", trace, "-s", "full_remap", "--inject-faults", "unmap:call=3",
                                          "--inject-faults", "cleanup:unmap:call=1", "--store", folder + "/s.sqlite"});
  BOOST_TEST(result.exit_code == 1, result.errors);
  BOOST_TEST(result.output.find("1 failed") != std::string::npos, result.output);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::testing
