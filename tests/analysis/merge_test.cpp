#include "analysis/merge.h"

#include "tests/analysis/support.h"

namespace remaplab {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

// A store with one run per strategy, with steps and calls of its own.
std::string MakeShard(const TemporaryDirectory& directory, const std::string& name,
                      const std::vector<std::string>& strategies) {
  const std::string path = directory.File(name);
  Store store = Must(Store::OpenForWriting(path));
  for (const std::string& strategy : strategies) {
    RunInfo info = ExampleInfo(strategy);
    info.campaign = CampaignInfo{"campaign-1", 5, "{}"};
    const RunId run = Must(store.BeginRun(info));
    const StepRow steps[] = {{.step = 1, .start = 0, .end = 10, .calls = 3}, {.step = 2, .start = 10, .end = 25}};
    const StepCallRow step_calls[] = {{1, CallKind::kMap, 2, 7}};
    CallRow call;
    call.step = 1;
    call.kind = CallKind::kReserve;
    call.size = 4096;
    Must(store.AppendSteps(run, steps, step_calls));
    Must(store.AppendCalls(run, std::span(&call, 1)));
    const DiagnosticRow note[] = {{Severity::kWarning, "cut off"}};
    Must(store.AppendDiagnostics(run, note));
    Must(store.FinishRun(run, ExampleSummary()));
  }
  Must(store.Close());
  return path;
}

std::vector<MergedFile> Merge(const std::string& target, const std::vector<std::string>& sources) {
  return Must(MergeStores(target, sources, {}));
}

constexpr const char* kEverything =
    "SELECT strategy, module, campaign, (SELECT group_concat(step || ':' || duration) FROM v_step WHERE run_id = "
    "r.run_id), (SELECT sum(n) FROM v_step_call WHERE run_id = r.run_id), (SELECT count(*) FROM v_call WHERE run_id = "
    "r.run_id AND kind = 'reserve'), (SELECT sum(n) FROM v_call_counts WHERE run_id = r.run_id), (SELECT message FROM "
    "v_diagnostic WHERE run_id = r.run_id) FROM v_run AS r ORDER BY strategy";

}  // namespace

BOOST_AUTO_TEST_SUITE(MergeTest)

BOOST_AUTO_TEST_CASE(a_merge_of_two_shards_holds_all_that_they_hold) {
  const TemporaryDirectory directory;
  const std::string one = MakeShard(directory, "1.sqlite", {"full_remap", "skip_remap"});
  const std::string two = MakeShard(directory, "2.sqlite", {"no_remap"});
  const std::string out = directory.File("out.sqlite");
  const std::vector<MergedFile> files = Merge(out, {two, one});
  BOOST_REQUIRE_EQUAL(files.size(), 2u);
  BOOST_TEST(files[0].added == 1u);
  BOOST_TEST(files[1].added == 2u);
  Lines expected = Query(one, kEverything);
  const Lines more = Query(two, kEverything);
  expected.insert(expected.begin() + 1, more.begin(), more.end());
  BOOST_TEST(Query(out, kEverything) == expected, boost::test_tools::per_element());
  BOOST_TEST(Query(out,
                   "SELECT (SELECT count(*) FROM trace), (SELECT count(*) FROM slot), (SELECT count(*) FROM "
                   "campaign)") == Lines{"1|4|1"},
             boost::test_tools::per_element());
  BOOST_TEST(Query(out, "PRAGMA integrity_check") == Lines{"ok"}, boost::test_tools::per_element());
  BOOST_TEST(Query(out, "PRAGMA foreign_key_check").empty());
}

BOOST_AUTO_TEST_CASE(merging_again_changes_nothing) {
  const TemporaryDirectory directory;
  const std::string one = MakeShard(directory, "1.sqlite", {"full_remap", "skip_remap"});
  const std::string out = directory.File("out.sqlite");
  Merge(out, {one});
  const Lines before = Query(out, kEverything);
  const std::vector<MergedFile> files = Merge(out, {one, one});
  BOOST_TEST(files[0].added == 0u);
  BOOST_TEST(files[0].known == 2u);
  BOOST_TEST(files[1].known == 2u);
  BOOST_TEST(Query(out, kEverything) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_with_another_result_is_conflicting_and_stays) {
  const TemporaryDirectory directory;
  const std::string one = MakeShard(directory, "1.sqlite", {"full_remap"});
  const std::string out = directory.File("out.sqlite");
  Merge(out, {one});
  Query(one, "UPDATE run SET step_total = step_total + 1");
  const std::vector<MergedFile> files = Merge(out, {one});
  BOOST_REQUIRE_EQUAL(files[0].conflicting.size(), 1u);
  BOOST_TEST(Query(out, "SELECT uuid, step_ns_total FROM v_run") == Lines{files[0].conflicting[0] + "|29000000"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_merge_that_fails_leaves_the_target_as_it_was) {
  const TemporaryDirectory directory;
  const std::string one = MakeShard(directory, "1.sqlite", {"full_remap"});
  const std::string two = MakeShard(directory, "2.sqlite", {"no_remap"});
  const std::string out = directory.File("out.sqlite");
  const std::string bad = directory.File("bad.sqlite");
  const std::vector<std::string> sources = {two, bad};
  BOOST_TEST(!MergeStores(out, sources, {}));
  BOOST_TEST(!std::filesystem::exists(out));
  Merge(out, {one});
  BOOST_TEST(!MergeStores(out, sources, {}));
  BOOST_TEST(Query(out, "SELECT strategy FROM v_run") == Lines{"full_remap"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_interrupted_merge_changes_nothing) {
  const TemporaryDirectory directory;
  const std::string one = MakeShard(directory, "1.sqlite", {"full_remap"});
  const std::string two = MakeShard(directory, "2.sqlite", {"no_remap"});
  Merge(one, {});
  const std::atomic<bool> stop = true;
  const std::vector<std::string> sources = {two};
  const auto merged = MergeStores(one, sources, {.runs = {}, .stop = &stop});
  BOOST_REQUIRE(!merged);
  BOOST_TEST((merged.error().code() == ErrorCode::kInterrupted));
  BOOST_TEST(Query(one, "SELECT strategy FROM v_run") == Lines{"full_remap"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_store_is_not_merged_into_itself) {
  const TemporaryDirectory directory;
  const std::string one = MakeShard(directory, "1.sqlite", {"full_remap"});
  const std::vector<std::string> sources = {one};
  BOOST_TEST(!MergeStores(one, sources, {}));
}

BOOST_AUTO_TEST_CASE(an_older_store_is_merged_like_any_other) {
  const TemporaryDirectory directory;
  const std::string out = directory.File("out.sqlite");
  const std::string old = REMAPLAB_SOURCE_DIR "/tests/analysis/stores/version_1.sqlite";
  BOOST_TEST(Merge(out, {old})[0].added == 3u);
  BOOST_TEST(Query(out, "SELECT status, count(*) FROM v_run GROUP BY status") == (Lines{"finished|2", "running|1"}),
             boost::test_tools::per_element());
  BOOST_TEST(Query(out, "SELECT count(*) FROM v_step") == Lines{"8"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
