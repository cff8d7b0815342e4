#include "replay/sweep/plan.h"

#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

namespace remaplab::testing {
namespace {

SweepPlan MustPlan(ReplayFlags words) {
  Result<SweepPlan> plan = MakeSweepPlan(std::move(words));
  BOOST_REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().message()));
  return *std::move(plan);
}

std::vector<SweepTrace> TwoTraces() {
  return {{.path = "a.remaptrace", .xxh3 = "aa", .programs = {{1, "jit_step", 0}, {2, "jit_eval", 0}}},
          {.path = "b.remaptrace", .xxh3 = "bb", .programs = {{1, "jit_step", 0}}}};
}

SweepGrid MustEnumerate(const SweepPlan& plan, uint32_t shards = 1) {
  Result<SweepGrid> grid = EnumerateCells(plan, TwoTraces(), shards);
  BOOST_REQUIRE_MESSAGE(grid, (grid ? "" : grid.error().message()));
  return *std::move(grid);
}

ReplayFlags Words() {
  return {{"trace", {"a.remaptrace", "b.remaptrace"}},
          {"strategy", {"full_remap", "skip_remap + copy_shadow(threshold={threshold})"}},
          {"threshold", {"4096", "65536"}},
          {"cost-profile", {"h200", "mi300x-fsdp8"}},
          {"repetitions", {"2"}}};
}

ReplayFlags MeasuredWords() {
  return {{"trace", {"a.remaptrace", "b.remaptrace"}},
          {"strategy", {"full_remap", "skip_remap"}},
          {"backend", {"host"}},
          {"repetitions", {"4"}}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SweepPlanTest)

BOOST_AUTO_TEST_CASE(a_plan_is_words_with_values) {
  const auto words =
      ParsePlanFile("# night\n\ntrace\tx.remaptrace\r\n  strategy  skip_remap(identity=address) \n", "p/q.plan");
  BOOST_REQUIRE(words);
  BOOST_TEST(words->at("trace")[0] == "p/x.remaptrace");
  BOOST_TEST(words->at("strategy")[0] == "skip_remap(identity=address)");
}

BOOST_AUTO_TEST_CASE(absolute_paths_and_profile_names_are_left_alone) {
  const auto words = ParsePlanFile(
      "trace /t/x.remaptrace\ncost-profile h200\ncost-profile mine.json\ncost-profile ../m\n", "p/q.plan");
  BOOST_REQUIRE(words);
  BOOST_TEST(words->at("trace")[0] == "/t/x.remaptrace");
  BOOST_TEST(words->at("cost-profile")[0] == "h200");
  BOOST_TEST(words->at("cost-profile")[1] == "p/mine.json");
  BOOST_TEST(words->at("cost-profile")[2] == "p/../m");
}

BOOST_AUTO_TEST_CASE(what_is_no_word_is_refused_with_its_line) {
  const auto unknown = ParsePlanFile("trace x\nstrategies full_remap\n", "q.plan");
  BOOST_REQUIRE(!unknown);
  BOOST_TEST(unknown.error().message().starts_with("q.plan:2: 'strategies' is no word"));
  const auto empty = ParsePlanFile("trace x\n\nstrategy\n", "q.plan");
  BOOST_REQUIRE(!empty);
  BOOST_TEST(empty.error().message() == "q.plan:3: strategy has no value");
}

BOOST_AUTO_TEST_CASE(a_plan_that_means_nothing_is_refused) {
  const auto refuses = [](const char* word, std::vector<std::string> values) {
    ReplayFlags words = Words();
    words[word] = std::move(values);
    const Result<SweepPlan> plan = MakeSweepPlan(words);
    BOOST_TEST((!plan || !EnumerateCells(*plan, TwoTraces(), 1)), word);
  };
  refuses("trace", {});
  refuses("strategy", {});
  refuses("strategy", {"full_remap", "full_remap"});
  refuses("strategy", {"full_remap", " full_remap "});
  refuses("strategy", {"full_remap"});  // nobody asks for the thresholds
  refuses("threshold", {});
  refuses("repetitions", {"0"});
  refuses("repetitions", {"two"});
  refuses("cost-profile", {"h200", "h200"});
  refuses("cost-profile", {"no-such-profile"});
  refuses("devices", {"0"});
  refuses("program", {"1", "2"});
}

BOOST_AUTO_TEST_CASE(the_grid_is_every_combination_once) {
  const SweepGrid grid = MustEnumerate(MustPlan(Words()));
  // 3 programs x 2 profiles x 2 repetitions x (full + shadow at 2 thresholds)
  BOOST_TEST(grid.cells.size() == 3 * 2 * 2 * 3);
  std::set<std::string> keys;
  std::map<std::string, int> strategies;
  for (const SweepCell& cell : grid.cells) {
    keys.insert(cell.key);
    ++strategies[cell.strategy];
    BOOST_TEST(cell.key.size() == 32);
  }
  BOOST_TEST(keys.size() == grid.cells.size());
  BOOST_TEST(strategies.size() == 3);
  BOOST_TEST(strategies["skip_remap+copy_shadow(threshold=4096)"] == 12);
}

BOOST_AUTO_TEST_CASE(order_and_keys_are_the_same_everywhere) {
  const SweepGrid grid = MustEnumerate(MustPlan(Words()));
  const SweepGrid again = MustEnumerate(MustPlan(Words()), 7);
  BOOST_TEST(grid.plan_hash == again.plan_hash);
  BOOST_TEST(grid.campaign.uuid == again.campaign.uuid);
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    BOOST_TEST(grid.cells[i].key == again.cells[i].key);
    BOOST_TEST(grid.cells[i].position == i);
  }
  // Written down once: keys that change would make every stored sweep start anew.
  SweepPlan simple = MustPlan({{"trace", {"a"}}, {"strategy", {"full_remap"}}, {"backend", {"null"}}});
  BOOST_TEST(MustEnumerate(simple).cells[0].key == "0becdacf87f52f0972ee820ac8f21aa3");
}

BOOST_AUTO_TEST_CASE(a_key_knows_content_and_not_names) {
  const SweepPlan plan = MustPlan(Words());
  std::vector<SweepTrace> moved = TwoTraces();
  moved[0].path = "elsewhere/renamed.remaptrace";
  BOOST_TEST(EnumerateCells(plan, moved, 1)->cells[0].key == MustEnumerate(plan).cells[0].key);
  moved[0].xxh3 = "cc";
  BOOST_TEST(EnumerateCells(plan, moved, 1)->cells[0].key != MustEnumerate(plan).cells[0].key);

  ReplayFlags explicit_default = Words();
  explicit_default["devices"] = {"1"};
  BOOST_TEST(MustEnumerate(MustPlan(explicit_default)).cells[0].key == MustEnumerate(plan).cells[0].key);
  ReplayFlags other = Words();
  other["devices"] = {"8"};
  BOOST_TEST(MustEnumerate(MustPlan(other)).cells[0].key != MustEnumerate(plan).cells[0].key);
}

BOOST_AUTO_TEST_CASE(a_name_makes_another_campaign_of_the_same_cells) {
  ReplayFlags named = Words();
  named["campaign"] = {"second try"};
  const SweepGrid one = MustEnumerate(MustPlan(Words()));
  const SweepGrid two = MustEnumerate(MustPlan(named));
  BOOST_TEST(one.cells[0].key == two.cells[0].key);
  BOOST_TEST(one.campaign.uuid != two.campaign.uuid);
}

BOOST_AUTO_TEST_CASE(every_cell_is_in_one_shard_and_shards_are_even) {
  const SweepGrid grid = MustEnumerate(MustPlan(Words()), 5);
  std::vector<int> cells(5);
  for (const SweepCell& cell : grid.cells) {
    ++cells.at(ShardOf(cell, 5));
  }
  const auto [least, most] = std::minmax_element(cells.begin(), cells.end());
  BOOST_TEST(*most - *least <= 1);
}

BOOST_AUTO_TEST_CASE(measured_pairs_stay_together_and_take_turns) {
  const SweepGrid grid = MustEnumerate(MustPlan(MeasuredWords()), 3);
  std::vector<std::string> order;
  for (size_t i = 0; i + 1 < grid.cells.size(); i += 2) {
    const SweepCell& a = grid.cells[i];
    const SweepCell& b = grid.cells[i + 1];
    BOOST_TEST(a.block == b.block);
    BOOST_TEST(ShardOf(a, 3) == ShardOf(b, 3));
    BOOST_TEST(a.strategy != b.strategy);
    BOOST_TEST(a.repetition == b.repetition);
  }
  // A B B A, A B B A
  BOOST_TEST(grid.cells[0].strategy == "full_remap");
  BOOST_TEST(grid.cells[1].strategy == "skip_remap");
  BOOST_TEST(grid.cells[2].strategy == "skip_remap");
  BOOST_TEST(grid.cells[3].strategy == "full_remap");
  BOOST_TEST(grid.cells[4].strategy == "full_remap");
}

BOOST_AUTO_TEST_CASE(what_a_backend_has_no_ear_for_is_no_axis_of_its_cells) {
  ReplayFlags words = MeasuredWords();
  words["backend"] = {"sim", "host"};
  words["cost-profile"] = {"h200", "mi300x-fsdp8"};
  std::map<std::string, int> cells;
  for (const SweepCell& cell : MustEnumerate(MustPlan(words)).cells) {
    ++cells[cell.flags.at("backend")[0]];
  }
  BOOST_TEST(cells["sim"] == 2 * cells["host"]);
}

BOOST_AUTO_TEST_CASE(repetitions_on_sim_differ_by_their_seed) {
  ReplayFlags words = Words();
  words["jitter"] = {"0.1"};
  words["seed"] = {"40"};
  std::set<std::string> seeds;
  for (const SweepCell& cell : MustEnumerate(MustPlan(words)).cells) {
    seeds.insert(cell.flags.at("seed")[0]);
  }
  BOOST_TEST((seeds == std::set<std::string>{"40", "41"}));
}

BOOST_AUTO_TEST_CASE(the_campaign_row_lists_every_cell_with_its_shard) {
  const SweepGrid grid = MustEnumerate(MustPlan(Words()), 4);
  simdjson::dom::parser parser;
  const simdjson::dom::element plan = parser.parse(grid.campaign.plan_json);
  BOOST_TEST(uint64_t(plan["shards"]) == 4);
  BOOST_TEST(std::string_view(plan["plan_hash"]) == grid.plan_hash);
  size_t i = 0;
  for (const simdjson::dom::element cell : plan["cells"].get_array()) {
    BOOST_TEST(std::string_view(cell.at(0)) == grid.cells[i].key);
    BOOST_TEST(uint64_t(cell.at(1)) == ShardOf(grid.cells[i], 4));
    ++i;
  }
  BOOST_TEST(i == grid.cells.size());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::testing
