#include "traces/inspector.h"

#include <boost/test/unit_test.hpp>

#include "tests/traces/trace_testing.h"
#include "traces/generator/random_trace.h"
#include "traces/reader.h"
#include "traces/validator.h"

namespace remaplab {
namespace {

std::string Lines(std::initializer_list<std::string_view> lines) {
  std::string text;
  for (const std::string_view line : lines) {
    text.append(line).append("\n");
  }
  return text;
}

// Slots 1 (temp, 4096), 3 (parameter, 8), 4 (parameter, 8); steps change {}, {3,4}, {1,4}; then another table.
std::string Example() {
  return Lines({
      R"({"remaptrace":1,"granularity":4096})",
      R"({"event":"program","id":7,"module":"m","device":2,"commands":5,"slots":[)"
      R"({"index":1,"size":4096,"kind":"temp"},{"index":3,"size":8,"kind":"parameter"},)"
      R"({"index":4,"size":8,"kind":"parameter"}]})",
      R"({"event":"alloc","backing":1,"address":"0x1000","size":4096})",
      R"({"event":"alloc","backing":2,"address":"0x2000","size":8})",
      R"({"event":"alloc","backing":3,"address":null,"size":8})",
      R"({"event":"step","program":7,"step":1,"bind":[[1,1],[3,2],[4,3]],"duration":30})",
      R"({"event":"step","program":7,"step":2,"bind":[],"duration":10})",
      R"({"event":"free","backing":2})",
      R"({"event":"alloc","backing":4,"address":"0x2000","size":8})",
      R"({"event":"step","program":7,"step":3,"bind":[[3,4],[4,null]],"duration":20})",
      R"({"event":"free","backing":1,"deferred":true})",
      R"({"event":"alloc","backing":1,"address":"0x1000","size":4096})",
      R"({"event":"step","program":7,"step":4,"bind":[[1,null],[4,3]]})",
      R"({"event":"timing","kind":"update","ns":10,"count":2})",
      R"({"event":"timing","kind":"update","ns":5,"count":1})",
      R"({"event":"end"})",
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(InspectorTest)

BOOST_AUTO_TEST_CASE(slots_steps_and_movement_are_counted) {
  const TraceSummary info = InspectTrace(Must(ParseTrace(Example(), "t")));
  BOOST_REQUIRE_EQUAL(info.programs.size(), 1u);
  const ProgramSummary& program = info.programs[0];
  BOOST_TEST(program.id == 7u);
  BOOST_TEST(program.device == 2);
  BOOST_TEST(program.commands == 5u);
  BOOST_TEST(program.slots == 3u);
  BOOST_TEST(program.bytes == 4112u);
  BOOST_TEST(program.bytes_mapped == 3u * 4096);
  BOOST_TEST(program.steps == 4u);
  BOOST_TEST(program.changed_min == 0u);
  BOOST_TEST(program.changed_median == 2u);
  BOOST_TEST(program.changed_max == 2u);
  BOOST_TEST(program.changed_slot_steps == 4u);
  BOOST_TEST(program.changed_steps == 2u);
  BOOST_TEST(program.runs == 3u);
  BOOST_TEST(program.same_address_changes == 1u);
  BOOST_TEST(program.duration_median == 20);
  const auto& temps = program.tally[static_cast<size_t>(SlotKind::kTemp)][1];
  BOOST_TEST(temps.slots == 1u);
  BOOST_TEST(temps.changes == 1u);
  const auto& parameters = program.tally[static_cast<size_t>(SlotKind::kParameter)][0];
  BOOST_TEST(parameters.slots == 2u);
  BOOST_TEST(parameters.bytes == 16u);
  BOOST_TEST(parameters.changes == 3u);
  BOOST_REQUIRE_EQUAL(program.movers.size(), 3u);
  BOOST_TEST(program.movers[0].slot.index == 4u);
  BOOST_TEST(program.movers[0].changes == 2u);
  BOOST_TEST(program.movers[0].distinct_backings == 1u);
  BOOST_TEST(program.movers[1].slot.index == 1u);
  BOOST_TEST(info.backings == 4u);
  BOOST_TEST(info.reused_allocs == 1u);
  BOOST_TEST(info.unknown_addresses == 1u);
  BOOST_REQUIRE_EQUAL(info.timings.size(), 1u);
  BOOST_TEST(info.timings[0].events == 2u);
  BOOST_TEST(info.timings[0].ns == 15);
  BOOST_TEST(info.timings[0].count == 3u);
}

BOOST_AUTO_TEST_CASE(a_granularity_of_ones_own_replaces_the_traces) {
  BOOST_TEST(InspectTrace(Must(ParseTrace(Example(), "t")), 2097152).programs[0].bytes_mapped == 3u * 2097152);
}

BOOST_AUTO_TEST_CASE(the_first_step_of_another_table_changes_nothing_that_was_there) {
  std::string text = Example();
  text.erase(text.rfind(R"({"event":"end"})"));
  text += Lines({
      R"({"event":"program","id":7,"module":"m","slots":[{"index":1,"size":4096}]})",
      R"({"event":"step","program":7,"step":5,"bind":[[1,1]]})",
      R"({"event":"end"})",
  });
  const TraceSummary info = InspectTrace(Must(ParseTrace(text, "t")));
  BOOST_REQUIRE_EQUAL(info.programs.size(), 1u);
  BOOST_TEST(info.programs[0].declarations == 2u);
  BOOST_TEST(info.programs[0].steps == 5u);
  BOOST_TEST(info.programs[0].changed_slot_steps == 4u);
  BOOST_TEST(info.programs[0].slots == 1u);
}

BOOST_AUTO_TEST_CASE(programs_without_steps_or_slots_are_shown_too) {
  const TraceSummary info = InspectTrace(Must(ParseTrace(
      Lines({R"({"remaptrace":1})", R"({"event":"program","id":1,"module":"m","slots":[]})", R"({"event":"end"})"}),
      "t")));
  BOOST_REQUIRE_EQUAL(info.programs.size(), 1u);
  BOOST_TEST(info.programs[0].steps == 0u);
  BOOST_TEST(info.programs[0].duration_median == kUnknownTime);
}

BOOST_AUTO_TEST_CASE(sums_over_random_traces_agree_with_each_other) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Trace trace = GenerateRandomTrace(seed);
    const TraceSummary info = InspectTrace(trace);
    uint64_t steps = 0;
    for (const ProgramSummary& program : info.programs) {
      steps += program.steps;
      uint64_t slots = 0;
      for (const auto& kind : program.tally) {
        for (const SlotTally& tally : kind) {
          slots += tally.slots;
        }
      }
      BOOST_REQUIRE_EQUAL(slots, program.slots);
      BOOST_REQUIRE_LE(program.runs, program.changed_slot_steps);
      BOOST_REQUIRE_LE(program.changed_steps, program.runs);
    }
    BOOST_REQUIRE_EQUAL(steps, trace.steps());
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ValidatorTest)

std::vector<TraceValidator::Note> NotesOn(const std::string& text) {
  TraceReader reader = Must(TraceReader::FromMemory(text, "t"));
  TraceValidator validator(reader.header().granularity);
  while (const TraceRecord* record = Must(reader.Next())) {
    validator.Observe(*record);
  }
  return validator.Notes();
}

BOOST_AUTO_TEST_CASE(a_clean_trace_has_no_notes) { BOOST_TEST(NotesOn(WithEnd(Prelude())).empty()); }

BOOST_AUTO_TEST_CASE(each_oddity_is_noted_with_its_first_line) {
  struct Case {
    std::string lines;
    std::string note;
  };
  const Case cases[] = {
      {Lines({R"({"event":"mark","name":"a","t":50})", R"({"event":"mark","name":"b","t":40})"}),
       "the time goes back (several runs in one file?)"},
      {Lines({R"({"event":"step","program":0,"step":1,"bind":[]})",
              R"({"event":"step","program":0,"step":1,"bind":[]})"}),
       "a step number does not ascend (several runs in one file?)"},
      {Lines({R"({"event":"program","id":1,"module":"n","slots":[{"index":0,"size":4097}]})",
              R"({"event":"step","program":1,"step":1,"bind":[[0,10]]})"}),
       "a slot is larger than the backing that is bound to it"},
      {Lines({R"({"event":"free","backing":10,"deferred":true})",
              R"({"event":"step","program":0,"step":2,"bind":[[3,10]]})"}),
       "a backing is bound that its allocator has taken back (deferred free)"},
      {Lines({R"({"event":"alloc","backing":12,"address":"0x7f0000000fff","size":1})"}),
       "two backings that are allocated at the same time overlap in their addresses"},
      {Lines({R"({"event":"alloc","backing":12,"address":"0x7effffffffff","size":2})"}),
       "two backings that are allocated at the same time overlap in their addresses"},
      {Lines({R"({"event":"alloc","backing":12,"address":"0x7f0000000000","size":1})"}),
       "two backings that are allocated at the same time overlap in their addresses"},
  };
  for (const Case& odd : cases) {
    const auto notes = NotesOn(WithEnd(Prelude() + odd.lines));
    BOOST_REQUIRE_MESSAGE(!notes.empty(), odd.lines);
    bool found = false;
    for (const TraceValidator::Note& note : notes) {
      found = found || note.text == odd.note;
      BOOST_TEST(note.first_line >= 6u);
    }
    BOOST_TEST(found, odd.lines);
  }
}

BOOST_AUTO_TEST_CASE(neighbouring_addresses_do_not_overlap) {
  BOOST_TEST(
      NotesOn(WithEnd(Prelude() + Lines({R"({"event":"alloc","backing":12,"address":"0x7f0000001000","size":8})",
                                         R"({"event":"alloc","backing":13,"address":"0x7effffffffff","size":1})",
                                         R"({"event":"free","backing":12})",
                                         R"({"event":"alloc","backing":14,"address":"0x7f0000001000","size":8})"})))
          .empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
