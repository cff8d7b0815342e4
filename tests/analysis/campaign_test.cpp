#include "analysis/campaign.h"

#include "tests/analysis/support.h"

namespace remaplab::test {
namespace {

RunInfo CellOf(const std::string& key) {
  RunInfo info = ExampleInfo();
  info.cell = key;
  info.campaign = CampaignInfo{.uuid = "0f9e8d7c-0000-8000-8000-000000000000",
                               .seed = 0,
                               .plan_json = R"({"name":"night","shards":2,"cells":[["a",0],["b",1],["c",0],["d",1]]})"};
  return info;
}

void AddRun(Store& store, const std::string& key, RunStatus status = RunStatus::kFinished) {
  const RunId run = Must(store.BeginRun(CellOf(key)));
  RunSummary summary;
  summary.status = status;
  Must(store.FinishRun(run, summary));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CampaignTest)

BOOST_AUTO_TEST_CASE(a_store_with_every_cell_is_complete) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("s.sqlite")));
  for (const char* key : {"a", "b", "c", "d"}) {
    AddRun(store, key);
  }
  const std::vector<CampaignState> campaigns = Must(ReadCampaigns(store));
  BOOST_REQUIRE_EQUAL(campaigns.size(), 1);
  BOOST_TEST(campaigns[0].complete());
  BOOST_TEST(campaigns[0].cells == 4);
  BOOST_TEST(campaigns[0].wrong.empty());
  BOOST_TEST(CampaignsToText(campaigns) == "sweep night 0f9e8d7c: 4 of 4 cells\n");
}

BOOST_AUTO_TEST_CASE(missing_and_duplicate_shards_are_told_apart) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("s.sqlite")));
  for (const char* key : {"a", "c", "a", "c"}) {
    AddRun(store, key);
  }
  const std::vector<CampaignState> campaigns = Must(ReadCampaigns(store));
  BOOST_REQUIRE_EQUAL(campaigns.size(), 1);
  BOOST_TEST(!campaigns[0].complete());
  BOOST_TEST(CampaignsToText(campaigns) ==
             "sweep night 0f9e8d7c: 2 of 4 cells, 2 of them more than once\n"
             "  shard 0/2 duplicate: 0 of 2 cells missing, 2 more than once\n"
             "  shard 1/2 missing: 2 of 2 cells missing, 0 more than once\n");
}

BOOST_AUTO_TEST_CASE(a_run_that_did_not_finish_counts_as_missing) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("s.sqlite")));
  AddRun(store, "a");
  AddRun(store, "b", RunStatus::kInterrupted);
  AddRun(store, "c");
  AddRun(store, "d");
  const std::vector<CampaignState> campaigns = Must(ReadCampaigns(store));
  BOOST_TEST(campaigns[0].finished == 3);
  BOOST_REQUIRE_EQUAL(campaigns[0].wrong.size(), 1);
  BOOST_TEST(campaigns[0].wrong[0].index == 1);
  BOOST_TEST(campaigns[0].wrong[0].missing == 1);
}

BOOST_AUTO_TEST_CASE(runs_outside_a_sweep_are_no_campaign) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("s.sqlite")));
  const RunId run = Must(store.BeginRun(ExampleInfo()));
  Must(store.FinishRun(run, {}));
  BOOST_TEST(Must(ReadCampaigns(store)).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::test
