#include "analysis/store.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "analysis/query.h"
#include "tests/analysis/support.h"

namespace remaplab {
namespace {

using namespace test;
using Lines = std::vector<std::string>;
constexpr std::chrono::milliseconds kNoPatience{50};

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string MakeStore(const TemporaryDirectory& directory, const std::string& name = "results.sqlite") {
  const std::string path = directory.File(name);
  Store store = Must(Store::OpenForWriting(path));
  AddRun(store, ExampleInfo(), ExampleSummary());
  Must(store.Close());
  return path;
}

std::string ReadingFails(const std::string& path) {
  const Result<Store> store = Store::OpenForReading(path, kNoPatience);
  BOOST_REQUIRE(!store);
  return store.error().message();
}

std::string WritingFails(const std::string& path) {
  const Result<Store> store = Store::OpenForWriting(path, kNoPatience);
  BOOST_REQUIRE(!store);
  return store.error().message();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StoreTest)

BOOST_AUTO_TEST_CASE(a_closed_store_is_one_plain_file_with_our_mark) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  BOOST_TEST(!std::filesystem::exists(path + "-wal"));
  BOOST_TEST(!std::filesystem::exists(path + "-shm"));
  BOOST_TEST(Query(path, "PRAGMA journal_mode") == Lines{"delete"}, boost::test_tools::per_element());
  BOOST_TEST(Query(path, "PRAGMA application_id") == Lines{"1919770992"}, boost::test_tools::per_element());
  BOOST_TEST(Query(path, "PRAGMA integrity_check") == Lines{"ok"}, boost::test_tools::per_element());
  BOOST_TEST(Query(path, "PRAGMA foreign_key_check").empty());
}

BOOST_AUTO_TEST_CASE(every_table_is_strict) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  BOOST_TEST(Query(path,
                   "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND strict = 0 AND "
                   "name NOT LIKE 'sqlite_%'")
                 .empty());
}

BOOST_AUTO_TEST_CASE(v_run_shows_what_was_run_and_its_summary) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  BOOST_TEST(
      Query(path,
            "SELECT status, finished, trace, module, strategy, backend, cost_profile, granularity, steps, slots, "
            "bytes_mapped, step_ns_median, host FROM v_run") ==
          Lines{"finished|1|tiny.remaptrace.zst|jit_step_fn|skip_remap|sim|h200|2097152|30|4|8388608|1000000|"
                R"({"cpu":"test","kernel":"6.1"})"},
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(v_call_counts_has_every_kind_of_the_steps_and_what_was_made_elsewhere) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  BOOST_TEST(Query(path, "SELECT count(*), sum(n) FROM v_call_counts WHERE phase = 'steps'") == Lines{"15|121"},
             boost::test_tools::per_element());
  BOOST_TEST(
      Query(path, "SELECT kind, n, duration FROM v_call_counts WHERE phase <> 'steps'") == Lines{"address_free|1|700"},
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(call_kinds_in_the_store_are_those_of_the_vocabulary) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  const Lines names = Query(path, "SELECT name FROM call_kind ORDER BY id");
  BOOST_TEST(names == Lines(kCallKindNames.begin(), kCallKindNames.end()), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(v_step_shows_the_steps_of_each_run) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("r.sqlite");
  Store store = Must(Store::OpenForWriting(path));
  const RunId first = Must(store.BeginRun(ExampleInfo()));
  const RunId second = Must(store.BeginRun(ExampleInfo("full_remap")));
  const StepRow rows[] = {{.step = 1, .start = 0, .end = 50, .calls = 8, .changed_slots = 4, .remap_ns = 30},
                          {.step = 2, .count = 9, .start = 50, .end = 500, .calls = 18}};
  const StepCallRow calls[] = {{1, CallKind::kMap, 4, 20}, {1, CallKind::kLaunch, 1, 5}};
  Must(store.AppendSteps(first, rows, calls));
  Must(store.AppendSteps(second, std::span(rows).first(1), {}));
  Must(store.FinishRun(first, ExampleSummary()));
  Must(store.FinishRun(second, ExampleSummary()));
  Must(store.Close());
  BOOST_TEST(Query(path, "SELECT run_id, step, count, duration, calls, changed_slots, remap_ns FROM v_step") ==
                 (Lines{"1|1|1|50|8|4|30", "1|2|9|450|18|0|0", "2|1|1|50|8|4|30"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_second_writer_adds_runs_and_shares_trace_program_and_strategy) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  MakeStore(directory);
  BOOST_TEST(Query(path,
                   "SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM trace), (SELECT count(*) FROM slot), "
                   "(SELECT count(*) FROM strategy), (SELECT count(DISTINCT uuid) FROM run)") == Lines{"2|1|4|1|2"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(two_open_writers_take_turns) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("r.sqlite");
  Store one = Must(Store::OpenForWriting(path));
  Store two = Must(Store::OpenForWriting(path));
  const RunId run_one = Must(one.BeginRun(ExampleInfo()));
  const RunId run_two = Must(two.BeginRun(ExampleInfo()));
  Must(one.FinishRun(run_one, ExampleSummary()));
  Must(two.FinishRun(run_two, ExampleSummary()));
  Must(one.Close());
  Must(two.Close());
  BOOST_TEST(Query(path, "SELECT count(*) FROM v_run WHERE finished") == Lines{"2"}, boost::test_tools::per_element());
  BOOST_TEST(!std::filesystem::exists(path + "-wal"));
}

BOOST_AUTO_TEST_CASE(a_killed_writer_leaves_a_sound_file_that_shows_the_run_as_unfinished) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("r.sqlite");
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    Result<Store> store = Store::OpenForWriting(path);
    Result<RunId> run = store->BeginRun(ExampleInfo());
    std::vector<StepRow> rows(40'000);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = {.step = i + 1, .start = 0, .end = 5};
    }
    (void)store->AppendSteps(*run, rows, {});
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_REQUIRE(WIFSIGNALED(status));
  Must(Store::OpenForReading(path));
  BOOST_TEST(Query(path, "PRAGMA integrity_check") == Lines{"ok"}, boost::test_tools::per_element());
  BOOST_TEST(Query(path, "SELECT status, finished, steps IS NULL FROM v_run") == Lines{"running|0|1"},
             boost::test_tools::per_element());
  BOOST_TEST(Query(path, "SELECT count(*) FROM v_step") == Lines{"40000"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_ends_once) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("r.sqlite")));
  const RunId run = AddRun(store, ExampleInfo(), ExampleSummary());
  BOOST_TEST(!store.FinishRun(run, ExampleSummary()));
  BOOST_TEST(!store.FinishRun(run + 1, ExampleSummary()));
}

BOOST_AUTO_TEST_CASE(churn_is_binned_and_kept_once_per_program) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("r.sqlite");
  Store store = Must(Store::OpenForWriting(path));
  ChurnMap churn(512);
  churn.Add(1, 0);
  churn.Add(2, 0);
  churn.Add(3, 2);
  for (int i = 0; i < 2; ++i) {
    Must(store.AddChurn(AddRun(store, ExampleInfo(), ExampleSummary()), churn));
  }
  Must(store.Close());
  BOOST_TEST(Query(path,
                   "SELECT step_column, position, changes, churn_steps_per_column FROM churn JOIN program ON "
                   "program.id = churn.program") == (Lines{"0|0|2|2", "1|2|1|2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_finished_cell_is_known_by_its_key) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("r.sqlite")));
  RunInfo info = ExampleInfo();
  info.cell = "abc";
  const RunId run = Must(store.BeginRun(info));
  BOOST_TEST(!Must(store.HasFinishedCell("abc")));
  Must(store.FinishRun(run, ExampleSummary()));
  BOOST_TEST(Must(store.HasFinishedCell("abc")));
  BOOST_TEST(!Must(store.HasFinishedCell("")));
}

// --- Files that are no store of ours ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_missing_file_is_not_made_by_reading_it) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("none.sqlite");
  BOOST_TEST(ReadingFails(path) == path + ": No such file or directory");
  BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_AUTO_TEST_CASE(a_directory_is_refused) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("");
  BOOST_TEST(ReadingFails(path) == path + ": is a directory");
  BOOST_TEST(WritingFails(path) == path + ": is a directory");
}

BOOST_AUTO_TEST_CASE(an_empty_file_holds_no_runs_but_may_become_a_store) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("e.sqlite");
  WriteFile(path, "");
  BOOST_TEST(ReadingFails(path) == path + ": is empty: no run has been stored in it");
  Must(Store::OpenForWriting(path));
}

BOOST_AUTO_TEST_CASE(a_text_file_is_refused_and_left_alone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("t.txt");
  WriteFile(path, "hello");
  BOOST_TEST(ReadingFails(path) == path + ": is not an SQLite file");
  BOOST_TEST(WritingFails(path) == path + ": is not an SQLite file");
  BOOST_TEST(ReadFile(path) == "hello");
}

BOOST_AUTO_TEST_CASE(another_programs_database_is_refused_and_left_alone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("o.sqlite");
  {
    sqlite3* handle = nullptr;
    sqlite3_open(path.c_str(), &handle);
    sqlite3_exec(handle, "CREATE TABLE t(x)", nullptr, nullptr, nullptr);
    sqlite3_close(handle);
  }
  const std::string before = ReadFile(path);
  BOOST_TEST(ReadingFails(path).find("another program") != std::string::npos);
  BOOST_TEST(WritingFails(path).find("another program") != std::string::npos);
  BOOST_TEST((ReadFile(path) == before));
}

BOOST_AUTO_TEST_CASE(a_truncated_file_is_named_with_both_lengths) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size / 2);
  const std::string expected =
      path + ": is truncated: " + std::to_string(size / 2) + " bytes of " + std::to_string(size);
  BOOST_TEST(ReadingFails(path) == expected);
  BOOST_TEST(WritingFails(path) == expected);
  std::filesystem::resize_file(path, 50);
  BOOST_TEST(ReadingFails(path) == path + ": is truncated: 50 bytes");
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_noticed_on_opening) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  std::string bytes = ReadFile(path);
  for (size_t page = 2; page < bytes.size() / 4096; ++page) {
    bytes.replace(page * 4096, 200, 200, '\x5a');
  }
  WriteFile(path, bytes);
  BOOST_TEST(ReadingFails(path).find("is damaged") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_locked_file_is_named_as_locked) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  sqlite3* handle = nullptr;
  sqlite3_open(path.c_str(), &handle);
  sqlite3_exec(handle, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr);
  const std::string expected = path + ": is locked by another process; try again when it is done";
  BOOST_TEST(ReadingFails(path) == expected);
  BOOST_TEST(WritingFails(path) == expected);
  sqlite3_close(handle);
}

BOOST_AUTO_TEST_CASE(a_read_only_file_can_be_read_but_not_written) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  std::filesystem::permissions(path, std::filesystem::perms(0444));
  std::filesystem::permissions(directory.File(""), std::filesystem::perms(0755));
  // Permission bits do not bind root.
  const bool root = geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  BOOST_REQUIRE(!root || seteuid(kNobody) == 0);
  const Result<Store> writing = Store::OpenForWriting(path, kNoPatience);
  const bool readable = Store::OpenForReading(path).has_value();
  BOOST_REQUIRE(!root || seteuid(0) == 0);
  BOOST_REQUIRE(!writing);
  BOOST_TEST(writing.error().message() == path + ": is read-only");
  BOOST_TEST(readable);
}

BOOST_AUTO_TEST_CASE(a_newer_file_is_refused_with_both_numbers) {
  const TemporaryDirectory directory;
  const std::string path = MakeStore(directory);
  Query(path, "PRAGMA user_version = 99");
  BOOST_TEST(ReadingFails(path).find("has schema version 99, this remaplab knows versions up to ") !=
             std::string::npos);
  BOOST_TEST(WritingFails(path).find("schema version 99") != std::string::npos);
}

// --- Earlier versions ------------------------------------------------------------------------------------------------

// tests/analysis/stores/version_N.sqlite was written by the remaplab whose newest schema was N.
BOOST_AUTO_TEST_CASE(a_version_1_file_is_read_without_being_changed) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("v1.sqlite");
  std::filesystem::copy_file(REMAPLAB_SOURCE_DIR "/tests/analysis/stores/version_1.sqlite", path);
  const std::string before = ReadFile(path);
  {
    Store store = Must(Store::OpenForReading(path));
    int runs = 0;
    Must(RunQuery(store, "v_run",
                  {[](const auto&) { return Status(); },
                   [&](const auto&) {
                     ++runs;
                     return Status();
                   }}));
    BOOST_TEST(runs == 3);
    Must(RunQuery(store, "v_verdict", {[](const auto&) { return Status(); }, [](const auto&) { return Status(); }}));
  }
  BOOST_TEST((ReadFile(path) == before));
}

BOOST_AUTO_TEST_CASE(a_version_1_file_is_migrated_by_writing_and_keeps_what_it_holds) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("v1.sqlite");
  std::filesystem::copy_file(REMAPLAB_SOURCE_DIR "/tests/analysis/stores/version_1.sqlite", path);
  const std::string steps = "SELECT run_id, step, duration, calls FROM v_step";
  const Lines before = Query(path, steps);
  Store store = Must(Store::OpenForWriting(path));
  AddRun(store, ExampleInfo(), ExampleSummary());
  Must(store.Close());
  BOOST_TEST(before.size() == 8u);
  BOOST_TEST(Query(path, steps) == before, boost::test_tools::per_element());
  BOOST_TEST(Query(path, "SELECT count(*) FROM v_call") == Lines{"8"}, boost::test_tools::per_element());
  BOOST_TEST(
      Query(path,
            "SELECT (SELECT user_version FROM pragma_user_version) = CAST(value AS INTEGER) FROM meta WHERE tag = "
            "'schema_version'") == Lines{"1"},
      boost::test_tools::per_element());
  BOOST_TEST(Query(path, "PRAGMA integrity_check") == Lines{"ok"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
