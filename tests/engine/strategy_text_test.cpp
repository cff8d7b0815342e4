#include "engine/strategy_text.h"

#include "engine/strategy.h"
#include "tests/engine/engine_rig.h"

namespace remaplab {
namespace {

struct Refusal {
  std::string text;
  std::string reason;  // part of the message
};

Result<Strategy> Make(std::string_view text, const Capabilities& capabilities = {}, uint32_t devices = 1) {
  static ProgramSpec program;
  program = MakeProgram(2, devices);
  return MakeStrategy(text, {.program = program, .capabilities = capabilities, .driver = "cuda"});
}

void CheckRefused(const Refusal& refusal, ErrorCode code = ErrorCode::kUsage) {
  const Result<Strategy> made = Make(refusal.text);
  BOOST_TEST_REQUIRE(!made.has_value(), refusal.text);
  BOOST_TEST((made.error().code() == code), refusal.text);
  BOOST_TEST(made.error().message().find(refusal.reason) != std::string::npos,
             refusal.text << ": " << made.error().message());
}

BOOST_AUTO_TEST_SUITE(strategy_text)

BOOST_AUTO_TEST_CASE(canonical_text_drops_white_space_and_keeps_parameters_as_given) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"full_remap", "full_remap"},
      {" skip_remap ", "skip_remap"},
      {"skip_remap()", "skip_remap"},
      {"skip_remap( access = run , identity=address )", "skip_remap(access=run,identity=address)"},
      {"skip_remap + copy_shadow ( threshold = 64KiB )", "skip_remap+copy_shadow(threshold=64KiB)"},
      {"copy_shadow(threshold=-1)", "copy_shadow(threshold=-1)"},
      {"cached_sets(k=3)+copy_shadow(threshold=1,direction=by_access)",
       "cached_sets(k=3)+copy_shadow(threshold=1,direction=by_access)"},
      {"skip_profiled(steps=5)", "skip_profiled(steps=5)"},
  };
  for (const auto& [text, canonical] : texts) {
    const Result<Strategy> made = Make(text);
    BOOST_TEST_REQUIRE(made.has_value(), text << ": " << (made ? "" : made.error().message()));
    BOOST_TEST(made->text == canonical);
  }
}

BOOST_AUTO_TEST_CASE(text_that_is_no_strategy_is_refused_with_the_place) {
  const std::vector<Refusal> refusals = {
      {"", "expected a strategy name at character 1"},
      {"skip_remap+", "expected a strategy name at character 12"},
      {"skip_remap(", "expected a parameter name at character 12"},
      {"skip_remap(identity", "expected '=' after the parameter name at character 20"},
      {"skip_remap(identity=)", "expected a parameter value at character 21"},
      {"skip_remap(identity=address", "expected ',' or ')' at character 28"},
      {"skip_remap)", "expected '+' or the end at character 11"},
      {"skip_remap x", "expected '+' or the end at character 12"},
      {"skip_remap(identity=address,identity=backing)", "parameter 'identity' is given twice"},
  };
  for (const Refusal& refusal : refusals) {
    CheckRefused(refusal);
  }
}

BOOST_AUTO_TEST_CASE(unknown_names_and_values_are_refused_with_the_known_ones) {
  const std::vector<Refusal> refusals = {
      {"skip", "unknown strategy 'skip'; known are full_remap, skip_remap, copy_shadow"},
      {"oracle", "oracle is not a strategy"},
      {"full_remap(k=1)", "full_remap has no parameter 'k'; it has none"},
      {"skip_remap(k=1)", "skip_remap has no parameter 'k'; it has identity, access"},
      {"skip_remap(identity=name)", "skip_remap: identity=name is not one of backing, address"},
      {"skip_remap(access=all)", "skip_remap: access=all is not one of range, run, slot"},
      {"copy_shadow(threshold=many)", "copy_shadow: threshold"},
      {"copy_shadow(threshold=-many)", "copy_shadow: threshold"},
      {"copy_shadow(direction=in)", "direction=in is not one of both, by_access"},
      {"skip_profiled(steps=0)", "steps=0 is not between 1 and 1000000"},
      {"skip_profiled(steps=x)", "skip_profiled: steps"},
      {"cached_sets(k=0)", "k=0 is not between 1 and 255"},
      {"cached_sets(k=256)", "k=256 is not between 1 and 255"},
  };
  for (const Refusal& refusal : refusals) {
    CheckRefused(refusal);
  }
}

BOOST_AUTO_TEST_CASE(combinations_that_mean_nothing_are_refused_with_the_reason) {
  const std::vector<Refusal> refusals = {
      {"full_remap+skip_remap", "both say how the mapped slots are kept current"},
      {"copy_shadow+skip_remap", "only copy_shadow can follow another strategy"},
      {"skip_remap+no_remap", "'skip_remap+no_remap' means nothing"},
      {"copy_shadow(threshold=1)+copy_shadow(threshold=2)", "one threshold decides"},
      {"skip_remap+copy_shadow(threshold=1)+copy_shadow(threshold=2)", "one threshold decides"},
      {"adaptive+copy_shadow(threshold=1)", "adaptive decides by itself which slots are shadowed"},
  };
  for (const Refusal& refusal : refusals) {
    CheckRefused(refusal);
  }
}

BOOST_AUTO_TEST_CASE(strategies_that_decide_by_cost_are_refused_without_a_stage) {
  CheckRefused({"adaptive", "adaptive decides by cost, and no cost profile is given"});
  CheckRefused({"skip_remap+copy_shadow(threshold=auto)", "threshold=auto decides by cost, and no cost profile"});
}

BOOST_AUTO_TEST_CASE(access_to_parts_is_refused_where_the_driver_refuses_it) {
  Capabilities capabilities;
  capabilities.partial_access = Capabilities::PartialAccess::kNone;
  for (const std::string_view text : {"skip_remap(access=run)", "two_ranges(access=slot)", "cached_sets(access=run)"}) {
    const Result<Strategy> made = Make(text, capabilities);
    BOOST_TEST_REQUIRE(!made.has_value());
    BOOST_TEST((made.error().code() == ErrorCode::kUnsupported));
    BOOST_TEST(made.error().message().find("rule 6") != std::string::npos);
  }
  capabilities.partial_access = Capabilities::PartialAccess::kOwnerOnly;
  BOOST_TEST(Make("skip_remap(access=run)", capabilities, 1).has_value());
  BOOST_TEST(!Make("skip_remap(access=run)", capabilities, 2).has_value());
}

BOOST_AUTO_TEST_CASE(mapping_parts_of_a_reservation_is_refused_where_the_driver_maps_whole_ones) {
  Capabilities capabilities;
  capabilities.sub_range_mapping = false;
  for (const std::string_view text : {"full_remap", "skip_remap", "two_ranges", "cached_sets", "skip_profiled"}) {
    const Result<Strategy> made = Make(text, capabilities);
    BOOST_TEST_REQUIRE(!made.has_value());
    BOOST_TEST((made.error().code() == ErrorCode::kUnsupported));
    BOOST_TEST(made.error().message().find("maps 2 slots into one reservation") != std::string::npos);
  }
  BOOST_TEST(Make("no_remap", capabilities).has_value());
  BOOST_TEST(Make("skip_temp", capabilities).has_value());  // the program has no temp slot
}

BOOST_AUTO_TEST_CASE(every_strategy_describes_itself_and_its_parameters) {
  const std::vector<StrategyInfo> infos = Strategies();
  BOOST_TEST(infos.size() == 9u);
  for (const StrategyInfo& info : infos) {
    BOOST_TEST(!info.description.empty());
    BOOST_TEST(info.description.find('\n') == std::string_view::npos);
    for (const ParameterInfo& parameter : info.parameters) {
      BOOST_TEST(!parameter.default_value.empty());
      BOOST_TEST(!parameter.values.empty());
      BOOST_TEST(!parameter.description.empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
