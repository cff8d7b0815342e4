#include "backends/profiles/cost_profile.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <filesystem>

namespace remaplab {
namespace {

constexpr std::string_view kMinimal = R"({"remaplab_cost_profile":1,"name":"x","quality":"measured","terms":{
  "map":{"fixed":{"ns":1.5,"source":"measured"},"contended_factor":{"factor":2.5,"source":"fitted"}},
  "copy":{"enqueue":{"ns":4,"source":"borrowed","from":"h200"}}}})";

}  // namespace

BOOST_AUTO_TEST_SUITE(CostProfileTest)

BOOST_AUTO_TEST_CASE(every_file_in_the_folder_is_built_in_under_its_own_name) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(REMAPLAB_SOURCE_DIR "/backends/profiles")) {
    if (entry.path().extension() == ".json") {
      ++files;
      const auto from_file = LoadCostProfile(entry.path().string());
      BOOST_REQUIRE_MESSAGE(from_file.has_value(), (from_file ? "" : from_file.error().message()));
      const auto built_in = LoadCostProfile(entry.path().stem().string());
      BOOST_REQUIRE(built_in.has_value());
      BOOST_TEST(CostProfileToJson(*built_in) == CostProfileToJson(*from_file));
    }
  }
  BOOST_TEST(BuiltinCostProfiles().size() == files);
}

BOOST_AUTO_TEST_CASE(terms_are_kept_to_the_picosecond_with_their_sources) {
  const CostProfile profile = ParseCostProfile(kMinimal, "x.json").value();
  BOOST_TEST(profile.At(CallKind::kMap, CostTerm::kFixed).value == 1500);
  BOOST_TEST(profile.At(CallKind::kMap, CostTerm::kContendedFactor).value == 2500);
  BOOST_TEST((profile.At(CallKind::kCopy, CostTerm::kFixed).source == TermSource::kBorrowed));
  BOOST_TEST(profile.At(CallKind::kCopy, CostTerm::kFixed).from == "h200");
  BOOST_TEST((profile.At(CallKind::kUnmap, CostTerm::kFixed).source == TermSource::kAbsent));
}

BOOST_AUTO_TEST_CASE(a_written_profile_reads_back_the_same) {
  for (const CostProfile& profile : BuiltinCostProfiles()) {
    const std::string text = CostProfileToJson(profile);
    const auto again = ParseCostProfile(text, "again");
    BOOST_REQUIRE_MESSAGE(again.has_value(), (again ? "" : again.error().message()));
    BOOST_TEST(CostProfileToJson(*again) == text);
    BOOST_TEST(NonZeroTerms(*again).size() == NonZeroTerms(profile).size());
  }
}

BOOST_AUTO_TEST_CASE(a_cost_is_rounded_once_half_up) {
  CostProfile profile = ParseCostProfile(kMinimal, "x.json").value();
  const CostTable table(profile);
  BOOST_TEST(table.CallNs(CallKind::kMap, {}) == 2);                   // 1.5
  BOOST_TEST(table.CallNs(CallKind::kMap, {.contended = true}) == 4);  // 3.75
}

BOOST_AUTO_TEST_CASE(bytes_are_charged_in_proportion) {
  CostProfile profile;
  profile.At(CallKind::kMap, CostTerm::kPerMib).value = 1'000'000;
  const CostTable table(profile);
  BOOST_TEST(table.CallNs(CallKind::kMap, {.bytes = uint64_t{1} << 20}) == 1000);
  BOOST_TEST(table.CallNs(CallKind::kMap, {.bytes = uint64_t{1} << 19}) == 500);
  BOOST_TEST(table.CallNs(CallKind::kMap, {.bytes = uint64_t{1} << 40}) == 1048576000);
}

BOOST_AUTO_TEST_CASE(absurd_quantities_saturate_instead_of_overflowing) {
  CostProfile profile;
  for (auto& kind : profile.terms) {
    for (CostTermValue& term : kind) {
      term.value = 1'000'000'000'000'000;
    }
  }
  const CostTable table(profile);
  const uint64_t much = ~uint64_t{0};
  const int64_t ns =
      table.CallNs(CallKind::kUnmap, {.bytes = much, .chunks = much, .chunk_devices = much, .contended = true});
  BOOST_TEST(ns == (int64_t{1} << 60) / 1000 + 1);
  BOOST_TEST(table.CopyGpuNs(much) > 0);
}

BOOST_AUTO_TEST_CASE(what_if_replaces_one_term) {
  CostProfile profile = ParseCostProfile(kMinimal, "x.json").value();
  BOOST_TEST(ApplyWhatIf(profile, "unmap.fixed=10us").has_value());
  BOOST_TEST(ApplyWhatIf(profile, "map.contended_factor=1").has_value());
  BOOST_TEST(ApplyWhatIf(profile, "copy.fixed=2us").has_value());
  BOOST_TEST(profile.At(CallKind::kUnmap, CostTerm::kFixed).value == 10'000'000);
  BOOST_TEST(profile.At(CallKind::kMap, CostTerm::kContendedFactor).value == 1000);
  BOOST_TEST(profile.At(CallKind::kCopy, CostTerm::kFixed).value == 2'000'000);
  BOOST_TEST(profile.what_if.size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_if_refuses_what_it_does_not_understand) {
  CostProfile profile;
  for (const char* text : {"", "unmap", "unmap.fixed", "unmap=10us", "unmapp.fixed=1", "unmap.gpu_fixed=1",
                           "unmap.fixed=", "unmap.fixed=x", "map.contended_factor=10us", "map.contended_factor=-1"}) {
    const Status status = ApplyWhatIf(profile, text);
    BOOST_TEST(!status.has_value(), "accepted '" << text << "'");
    BOOST_TEST((status.error().code() == ErrorCode::kUsage));
  }
  BOOST_TEST(profile.what_if.empty());
}

BOOST_AUTO_TEST_CASE(a_wrong_profile_is_refused_with_the_key_that_is_wrong) {
  const std::array<std::pair<const char*, const char*>, 11> kCases = {{
      {"", "no valid JSON"},
      {"[]", "want a JSON object"},
      {R"({"name":"x"})", "remaplab_cost_profile"},
      {R"({"remaplab_cost_profile":2,"name":"x","quality":"measured","terms":{}})", "version 2 is newer than 1"},
      {R"({"remaplab_cost_profile":1,"quality":"measured","terms":{}})", "name"},
      {R"({"remaplab_cost_profile":1,"name":"x","quality":"good","terms":{}})", "quality"},
      {R"({"remaplab_cost_profile":1,"name":"x","quality":"measured"})", "terms"},
      {R"({"remaplab_cost_profile":1,"name":"x","quality":"measured","terms":{"mapp":{}}})", "mapp"},
      {R"({"remaplab_cost_profile":1,"name":"x","quality":"measured","terms":{"map":{"gpu_fixed":{"ns":1,"source":"measured"}}}})",
       "map.gpu_fixed"},
      {R"({"remaplab_cost_profile":1,"name":"x","quality":"measured","terms":{"map":{"fixed":{"ns":-1,"source":"measured"}}}})",
       "out of range"},
      {R"({"remaplab_cost_profile":1,"name":"x","quality":"measured","terms":{"map":{"fixed":{"ns":1,"source":"borrowed"}}}})",
       "from"},
  }};
  for (const auto& [text, expected] : kCases) {
    const auto profile = ParseCostProfile(text, "p.json");
    BOOST_TEST(!profile.has_value(), text);
    BOOST_TEST((profile.error().code() == ErrorCode::kInput));
    BOOST_TEST(profile.error().message().find("p.json") == 0u);
    BOOST_TEST(profile.error().message().find(expected) != std::string::npos, profile.error().message());
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_answered_with_the_known_ones) {
  const auto profile = LoadCostProfile("h100");
  BOOST_TEST((profile.error().code() == ErrorCode::kUsage));
  BOOST_TEST(profile.error().message().find("h200, mi300x-fsdp8, zero") != std::string::npos);
  BOOST_TEST((LoadCostProfile("./no/such.json").error().code() == ErrorCode::kIo));
}

BOOST_AUTO_TEST_CASE(borrowed_and_absent_terms_are_named_when_they_are_used) {
  const CostProfile profile = LoadCostProfile("mi300x-fsdp8").value();
  std::array<bool, kCallKindCount> used{};
  BOOST_TEST(UnmeasuredTerms(profile, used, 8).empty());
  used[static_cast<size_t>(CallKind::kWait)] = true;
  const auto terms = UnmeasuredTerms(profile, used, 8);
  BOOST_REQUIRE(terms.size() == 1u);
  BOOST_TEST(terms[0] == "wait.fixed (borrowed from h200)");
  const CostProfile h200 = LoadCostProfile("h200").value();
  used = {};
  used[static_cast<size_t>(CallKind::kUnmap)] = true;
  BOOST_TEST(UnmeasuredTerms(h200, used, 1).empty());
  BOOST_TEST(UnmeasuredTerms(h200, used, 8).size() == 1u);
}

// definitions.md section 3: (full - skip) is the published difference, on the scaled and rounded bytes of the
// recordings.
BOOST_AUTO_TEST_CASE(the_mi300x_profile_gives_back_the_two_differences_it_was_fitted_to) {
  const CostTable table(LoadCostProfile("mi300x-fsdp8").value());
  constexpr uint64_t kUnchangedSlots = 234 - 7;
  for (const auto& [mapped, difference] :
       {std::pair<uint64_t, int64_t>{3451912192, 544'500'000}, std::pair<uint64_t, int64_t>{4846518272, 668'000'000}}) {
    const uint64_t bytes = mapped - 7 * (uint64_t{2} << 20);
    const int64_t saved =
        table.CallNs(CallKind::kUnmap,
                     {.bytes = bytes, .chunks = kUnchangedSlots, .chunk_devices = kUnchangedSlots * 8}) +
        table.CallNs(CallKind::kMap, {.bytes = bytes, .chunks = kUnchangedSlots});
    BOOST_TEST(std::abs(saved - difference) < 1000);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
