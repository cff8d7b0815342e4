// The file must open in ui.perfetto.dev: checked against the rules of Chrome's trace event format.
#include "backends/sim/timeline.h"

#include <simdjson.h>

#include <map>
#include <string>

#include "tests/backends/sim_fixture.h"

namespace remaplab {
namespace {

// A run with everything in it that takes time.
Timeline RunForTimeline() {
  Timeline timeline;
  SimOptions options;
  options.cost_profile = "h200";
  options.driver_profile = "rocm-7.1";
  options.timeline = &timeline;
  options.host_step_ns = 1000;
  const auto sim = MakeSim(options);
  MappedRange range(*sim, 3);
  const Address shadow = Must(sim->ShadowAlloc(64, 0, 0));
  const auto baked = range.Baked();
  const CommandBufferId command_buffer = Must(sim->Capture(baked, 10));
  const EventId event = Must(sim->CreateEvent());
  for (uint64_t step = 1; step <= 6; ++step) {
    Must(sim->BeginStep(step));
    if (step == 3) {
      Must(sim->Wait(event));
    }
    if (step <= 3) {
      Must(sim->Unmap(range.base, kChunk));
      Must(sim->Map(range.base, kChunk, range.memory[0].handle));
      Must(sim->SetAccess(range.base, range.size, 0));
    }
    Must(sim->Copy(shadow, range.memory[1].address, 64));
    Must(sim->Launch({.command_buffer = command_buffer, .gpu_ns = 1'500'001}));
    Must(sim->Record(event));
    Must(sim->EndStep(step, true));
  }
  return timeline;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(TimelineTest)

BOOST_AUTO_TEST_CASE(spans_of_one_track_never_overlap) {
  const Timeline timeline = RunForTimeline();
  std::map<TimelineTrack, int64_t> free;
  for (const TimelineSpan& span : timeline.spans()) {
    BOOST_TEST(span.start <= span.end);
    BOOST_TEST(span.start >= free[span.track]);
    free[span.track] = span.end;
  }
}

BOOST_AUTO_TEST_CASE(the_json_follows_the_trace_event_format) {
  simdjson::dom::parser parser;
  const std::string text = RunForTimeline().ToChromeJson("jit_step_fn skip_remap");
  simdjson::dom::element document;
  BOOST_REQUIRE(parser.parse(text).get(document) == simdjson::SUCCESS);
  BOOST_TEST(std::string_view(document["displayTimeUnit"]) == "ns");
  std::map<std::pair<int64_t, int64_t>, double> free;
  std::map<std::string, int> seen;
  bool named_process = false;
  for (const simdjson::dom::element event : document["traceEvents"].get_array()) {
    const std::string_view phase = event["ph"];
    const std::string_view name = event["name"];
    const int64_t pid = event["pid"];
    const int64_t tid = event["tid"];
    if (phase == "M") {
      named_process = named_process || name == "process_name";
      BOOST_TEST((name == "process_name" || name == "thread_name"));
      BOOST_TEST(!std::string_view(event["args"]["name"]).empty());
      continue;
    }
    BOOST_REQUIRE(phase == "X");
    ++seen[std::string(name)];
    const double ts = event["ts"];
    const double dur = event["dur"];
    BOOST_TEST(dur >= 0);
    double& until = free[{pid, tid}];
    BOOST_TEST(ts >= until - 0.0005);  // complete events of a thread nest or follow; ours follow
    until = ts + dur;
    BOOST_TEST(event["args"]["step"].is_uint64());
  }
  BOOST_TEST(named_process);
  for (const char* name : {"host", "run_ahead", "driver_sync", "unmap", "map", "set_access", "copy", "launch", "wait",
                           "record", "capture", "reserve", "step"}) {
    BOOST_TEST(seen[name] > 0, name);
  }
}

BOOST_AUTO_TEST_CASE(calls_carry_slot_address_and_size_and_times_keep_their_nanoseconds) {
  const std::string text = RunForTimeline().ToChromeJson("run");
  BOOST_TEST(text.find(R"("name":"step","cat":"gpu","ph":"X")") != std::string::npos);
  BOOST_TEST(text.find(R"("dur":1500.001,)") != std::string::npos);
  BOOST_TEST(text.find(R"("size":2097152,"slot":0}})") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
