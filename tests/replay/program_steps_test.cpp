#include "replay/program_steps.h"

#include <boost/test/unit_test.hpp>

namespace remaplab {
namespace {

// Two programs in turn; the first shares backing 0 with nobody, the second uses backing 1.
Trace TwoPrograms() {
  Trace trace;
  trace.programs = {{.id = 7, .module = "train", .device = 0, .commands = 3, .slots = {{.index = 0, .size = 8}}},
                    {.id = 9, .module = "eval", .device = 1, .commands = 0, .slots = {{.index = 4, .size = 8}}}};
  trace.backing_id = {10, 11};
  trace.backing_address = {0x1000, 0x2000};
  trace.backing_size = {8, 8};
  const auto event = [&trace](TraceEventType type, uint32_t ref, int64_t t) {
    trace.events.push_back({type, ref});
    trace.event_t.push_back(t);
  };
  const auto step = [&](uint32_t program, uint32_t backing, int64_t t) {
    event(TraceEventType::kStep, static_cast<uint32_t>(trace.steps()), t);
    trace.step_program.push_back(program);
    trace.step_number.push_back(trace.steps());
    trace.step_duration.push_back(kUnknownTime);
    trace.bind_slot.push_back(0);
    trace.bind_backing.push_back(backing);
    trace.step_bind_begin.push_back(trace.bind_slot.size());
  };
  event(TraceEventType::kProgram, 0, 0);
  event(TraceEventType::kProgram, 1, 0);
  event(TraceEventType::kAlloc, 0, 0);
  event(TraceEventType::kAlloc, 1, 0);
  step(0, 0, 100);
  step(1, 1, 150);
  event(TraceEventType::kDeferredFree, 0, 160);
  event(TraceEventType::kAlloc, 0, 170);
  step(0, 0, 300);
  step(0, 0, 600);
  event(TraceEventType::kFree, 1, 700);
  return trace;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ProgramStepsTest)

BOOST_AUTO_TEST_CASE(a_program_hears_only_of_backings_that_it_binds) {
  const Trace trace = TwoPrograms();
  const std::vector<ProgramSteps> programs = SplitPrograms(trace);
  BOOST_REQUIRE(programs.size() == 2u);
  using Type = ProgramEvent::Type;
  const std::vector<Type> train = {Type::kDeclare, Type::kStep, Type::kReissue, Type::kStep, Type::kStep};
  const std::vector<Type> eval = {Type::kDeclare, Type::kStep, Type::kFree};
  const auto types = [](const ProgramSteps& program) {
    std::vector<Type> seen;
    for (const ProgramEvent& event : program.events) {
      seen.push_back(event.type);
    }
    return seen;
  };
  BOOST_TEST((types(programs[0]) == train));
  BOOST_TEST((types(programs[1]) == eval));
}

BOOST_AUTO_TEST_CASE(the_gpu_step_is_the_median_start_to_start_pace_when_no_duration_is_known) {
  const Trace trace = TwoPrograms();
  const std::vector<ProgramSteps> programs = SplitPrograms(trace);
  BOOST_TEST(programs[0].gpu_step_ns == 200);  // lower middle of 200 and 300
  BOOST_TEST((programs[0].gpu_step_source == ProgramSteps::GpuStepSource::kPace));
  BOOST_TEST(programs[1].gpu_step_ns == 0);
  BOOST_TEST((programs[1].gpu_step_source == ProgramSteps::GpuStepSource::kNone));
}

BOOST_AUTO_TEST_CASE(known_durations_come_before_the_pace) {
  Trace trace = TwoPrograms();
  trace.step_duration[0] = 42;
  BOOST_TEST(SplitPrograms(trace)[0].gpu_step_ns == 42);
}

BOOST_AUTO_TEST_CASE(programs_are_picked_by_id_or_whole_module_name) {
  const Trace trace = TwoPrograms();
  BOOST_TEST(PickPrograms(SplitPrograms(trace), "9").value().at(0).module == "eval");
  BOOST_TEST(PickPrograms(SplitPrograms(trace), "train").value().at(0).id == 7u);
  const auto none = PickPrograms(SplitPrograms(trace), "tra");
  BOOST_REQUIRE(!none.has_value());
  BOOST_TEST(none.error().message() == "no program 'tra' in the trace; it has 7 (train, device 0), 9 (eval, device 1)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
