#include "traces/generator/generator.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "tests/traces/trace_testing.h"
#include "traces/inspector.h"
#include "traces/reader.h"
#include "traces/validator.h"

namespace remaplab {
namespace {

GeneratorOptions Options(std::string_view model, uint32_t layers) {
  GeneratorOptions options;
  options.table.model = FindModelShape(model).value();
  options.table.layers = layers;
  return options;
}

Churn ChurnOf(std::string_view text) {
  Churn churn;
  Must(ApplyChurn(text, churn));
  return churn;
}

// A recorded training step, as an independent count of its log and buffer assignment says: slots by size without the
// temp, then what moved.
struct Recorded {
  std::string_view name;
  GeneratorOptions options;
  std::map<uint64_t, uint64_t> sizes;
  uint64_t temp;
  uint64_t slots;
  uint64_t changed_slot_steps;
  uint64_t runs;          // 0: not told apart
  uint64_t mapped_bytes;  // at 2 MiB
};

std::vector<Recorded> Recordings() {
  std::vector<Recorded> recordings;
  GeneratorOptions tiny = Options("custom", 2);
  tiny.table.batch = 4;
  tiny.table.sequence = 256;
  recordings.push_back({"tiny_vmm",
                        tiny,
                        {{4194304, 6}, {2883584, 18}, {1048576, 24}, {4112, 1}, {2048, 15}, {552, 1}, {4, 6}},
                        95516712,
                        72,
                        203,
                        87,
                        295698432});
  recordings.push_back({"llama2_7b_l8_vmm",
                        Options("llama2-7b", 8),
                        {{524288000, 6}, {180355072, 72}, {67108864, 96}, {16384, 51}, {4104, 1}, {1848, 1}, {4, 6}},
                        3673745208,
                        234,
                        203,
                        58,
                        26371686400});
  GeneratorOptions scan = Options("llama2-7b", 8);
  scan.table.scan = true;
  recordings.push_back(
      {"llama2_7b_l8_scan_vmm",
       scan,
       {{1442840576, 9}, {536870912, 12}, {524288000, 6}, {131072, 6}, {16384, 3}, {4104, 1}, {336, 1}, {4, 6}},
       7592009552,
       45,
       203,
       58,
       30203183104});
  recordings.push_back(
      {"llama3_8b_l8_vmm",
       Options("llama3-8b", 8),
       {{2101346304, 6}, {234881024, 72}, {67108864, 48}, {16777216, 48}, {16384, 51}, {4104, 1}, {1848, 1}, {4, 6}},
       4149812280,
       234,
       203,
       58,
       37820039168});
  GeneratorOptions maxtext = Options("llama2-7b", 8);
  maxtext.table.style = TrainingStyle::kMaxText;
  maxtext.churn = ChurnOf("metrics=11,inputs=5,scratch=30");
  recordings.push_back(
      {"mt_llama2_7b_l8_vmm",
       maxtext,
       {{524288000, 6}, {180355072, 72}, {67108864, 96}, {16384, 51}, {4096, 5}, {2776, 1}, {16, 54}, {4, 68}},
       3796196824,
       354,
       493,
       87,
       26747076608});
  GeneratorOptions undonated = Options("custom", 12);
  undonated.table.batch = 4;
  undonated.table.sequence = 256;
  undonated.steps = 60;
  undonated.churn = ChurnOf("undonated");
  recordings.push_back({"tiny_l12_nodonate_vmm",
                        undonated,
                        {{4194304, 12}, {2883584, 216}, {1048576, 288}, {4112, 1}, {2712, 1}, {2048, 150}, {4, 7}},
                        172007576,
                        676,
                        39825,
                        59,
                        2067791872});
  return recordings;
}

std::vector<TraceValidator::Note> NotesOn(const Trace& trace) {
  const std::string text = TraceToText(trace);
  TraceReader reader = Must(TraceReader::FromMemory(text, "t"));
  TraceValidator validator(reader.header().granularity);
  while (const TraceRecord* record = Must(reader.Next())) {
    validator.Observe(*record);
  }
  return validator.Notes();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(GeneratorTest)

BOOST_AUTO_TEST_CASE(a_generated_run_has_the_recorded_ones_slots_sizes_and_movement) {
  for (const Recorded& recorded : Recordings()) {
    BOOST_TEST_CONTEXT(recorded.name) {
      const Trace trace = Must(GenerateTrace(recorded.options));
      std::map<uint64_t, uint64_t> sizes;
      uint64_t temp = 0;
      for (const TraceSlot& slot : trace.programs.at(0).slots) {
        if (slot.kind == SlotKind::kTemp) {
          temp = slot.size;
        } else {
          ++sizes[slot.size];
        }
      }
      // Every size but the temp's is exact; the temp is within 10 %, and with it the mapped bytes within 2 %.
      BOOST_CHECK(sizes == recorded.sizes);
      BOOST_TEST(temp >= recorded.temp / 10 * 9);
      BOOST_TEST(temp <= recorded.temp / 10 * 11);
      const ProgramSummary program = InspectTrace(trace).programs.at(0);
      BOOST_TEST(program.slots == recorded.slots);
      BOOST_TEST(program.bytes_mapped >= recorded.mapped_bytes / 100 * 98);
      BOOST_TEST(program.bytes_mapped <= recorded.mapped_bytes / 100 * 102);
      BOOST_TEST(program.changed_slot_steps == recorded.changed_slot_steps);
      BOOST_TEST(program.runs == recorded.runs);
      BOOST_TEST(program.steps == recorded.options.steps);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_model_gives_a_clean_trace_with_every_allocator) {
  for (const ModelShape& model : ModelShapes()) {
    for (const AllocatorPolicy policy : {AllocatorPolicy::kFifo, AllocatorPolicy::kBfc, AllocatorPolicy::kArena}) {
      BOOST_TEST_CONTEXT(model.name << " " << Name(policy)) {
        GeneratorOptions options = Options(model.name, 2);
        options.steps = 5;
        options.allocator = policy;
        const Trace trace = Must(GenerateTrace(options));
        BOOST_TEST(trace.end.present);
        BOOST_TEST(NotesOn(trace).empty());
        const bool arena = IsArena(policy);
        BOOST_TEST((trace.end.identity == TraceIdentity::kAddress) == arena);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(shards_divide_matrices_and_not_vectors) {
  GeneratorOptions one = Options("llama3-405b", 1);
  one.steps = 1;
  GeneratorOptions eight = one;
  eight.table.shards = 8;
  const auto largest = [](const GeneratorOptions& options) {
    return Must(GenerateTrace(options)).programs.at(0).slots.at(0).size;
  };
  BOOST_TEST(largest(one) == uint64_t{128256} * 16384 * 4);
  BOOST_TEST(largest(eight) == uint64_t{128256} * 16384 * 4 / 8);
  BOOST_TEST(InspectTrace(Must(GenerateTrace(eight))).programs.at(0).slots == 3u * 12 + 9);
}

BOOST_AUTO_TEST_CASE(a_seed_is_one_trace_on_every_machine) {
  GeneratorOptions options = Options("llama2-7b", 2);
  options.steps = 10;
  options.churn = ChurnOf("moves=3,evaluate=3,checkpoint=4,pressure=5,aliases=2,prefetch=2");
  const std::string hash = Must(GenerateTrace(options)).xxh3;
  BOOST_TEST(hash == "62a9a0246f853adb971cb673eeae1fc1");
  BOOST_TEST(Must(GenerateTrace(options)).xxh3 == hash);
  options.seed = 2;
  BOOST_TEST(Must(GenerateTrace(options)).xxh3 != hash);
}

BOOST_AUTO_TEST_CASE(a_steady_run_does_not_move) {
  GeneratorOptions options = Options("llama2-7b", 2);
  options.churn = ChurnOf("steady");
  const ProgramSummary program = InspectTrace(Must(GenerateTrace(options))).programs.at(0);
  BOOST_TEST(program.steps == 30u);
  BOOST_TEST(program.changed_slot_steps == 0u);
}

BOOST_AUTO_TEST_CASE(moves_are_so_many_a_step) {
  GeneratorOptions options;
  options.uniform = {1000, 1048576};
  options.steps = 101;
  options.churn = ChurnOf("steady,moves=10");
  const ProgramSummary program = InspectTrace(Must(GenerateTrace(options))).programs.at(0);
  BOOST_TEST(program.slots == 1000u);
  // A leaf that is picked twice in a step counts once.
  BOOST_TEST(program.changed_slot_steps <= 1000u);
  BOOST_TEST(program.changed_slot_steps >= 970u);
}

BOOST_AUTO_TEST_CASE(evaluation_is_a_program_of_its_own_that_shares_the_weights) {
  GeneratorOptions options = Options("llama2-7b", 2);
  options.steps = 10;
  options.churn = ChurnOf("evaluate=5");
  const Trace trace = Must(GenerateTrace(options));
  const TraceSummary info = InspectTrace(trace);
  BOOST_REQUIRE_EQUAL(info.programs.size(), 2u);
  BOOST_TEST(info.programs[1].module == "jit_eval_step");
  BOOST_TEST(info.programs[1].steps == 4u);
  BOOST_TEST(trace.marks.size() == 2u);
  std::map<uint32_t, std::set<uint32_t>> bound;
  for (size_t step = 0; step < trace.steps(); ++step) {
    for (const uint32_t backing : trace.BoundBackings(step)) {
      bound[trace.step_program[step]].insert(backing);
    }
  }
  size_t shared = 0;
  for (const uint32_t backing : bound[1]) {
    shared += bound[0].contains(backing) ? 1 : 0;
  }
  BOOST_TEST(shared >= 21u);
}

BOOST_AUTO_TEST_CASE(pressure_brings_addresses_back_with_other_memory) {
  GeneratorOptions options = Options("llama2-7b", 2);
  options.churn = ChurnOf("pressure=1");
  BOOST_TEST(InspectTrace(Must(GenerateTrace(options))).programs.at(0).same_address_changes > 10u);
  options.churn = ChurnOf("pressure=0");
  BOOST_TEST(InspectTrace(Must(GenerateTrace(options))).programs.at(0).same_address_changes == 0u);
}

BOOST_AUTO_TEST_CASE(aliases_hold_the_same_memory_in_two_slots) {
  GeneratorOptions options = Options("llama2-7b", 1);
  options.steps = 1;
  options.churn = ChurnOf("aliases=3");
  const Trace trace = Must(GenerateTrace(options));
  const auto backings = trace.BoundBackings(0);
  const std::set<uint32_t> distinct(backings.begin(), backings.end());
  BOOST_TEST(backings.size() == distinct.size() + 3);
}

BOOST_AUTO_TEST_CASE(options_that_mean_nothing_are_refused) {
  const auto refused = [](const GeneratorOptions& options) {
    const auto trace = GenerateTrace(options);
    return !trace && trace.error().code() == ErrorCode::kUsage;
  };
  GeneratorOptions options = Options("llama2-7b", 1);
  options.steps = 0;
  BOOST_TEST(refused(options));
  options = Options("llama2-7b", 1);
  options.table.shards = 0;
  BOOST_TEST(refused(options));
  options = Options("llama2-7b", 1);
  options.allocator = AllocatorPolicy::kRecorded;
  BOOST_TEST(refused(options));
  options = Options("custom", 100'000);
  Must(ApplyShape("hidden=16777216,ffn=16777216", options.table.model));
  BOOST_TEST(refused(options));
  Churn churn;
  for (const char* text : {"x", "metrics", "metrics=", "metrics=-1", "metrics=1,metrics=2", "donated=1", ",",
                           "moves=1,", "moves=9999999"}) {
    BOOST_TEST(!ApplyChurn(text, churn).has_value(), text);
  }
  ModelShape shape;
  for (const char* text : {"x=1", "hidden", "hidden=0", "hidden=99999999"}) {
    BOOST_TEST(!ApplyShape(text, shape).has_value(), text);
  }
  BOOST_TEST(!FindModelShape("llama9").has_value());
}

BOOST_AUTO_TEST_CASE(churn_reads_back_what_it_prints) {
  const Churn churn = ChurnOf(
      "undonated,metrics=1,generations=2,inputs=3,prefetch=4,scratch=5,moves=6,aliases=7,"
      "evaluate=8,checkpoint=9,pressure=10");
  BOOST_TEST(ChurnText(ChurnOf(ChurnText(churn))) == ChurnText(churn));
}

BOOST_AUTO_TEST_CASE(a_file_is_what_the_trace_in_memory_is) {
  const TemporaryFolder folder;
  const GeneratorOptions options = Options("llama2-7b", 1);
  Must(GenerateTraceFile(options, folder.File("t.remaptrace.zst")));
  BOOST_TEST(Must(LoadTrace(folder.File("t.remaptrace.zst"))).xxh3 == Must(GenerateTrace(options)).xxh3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
