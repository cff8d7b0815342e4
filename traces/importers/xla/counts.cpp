#include "traces/importers/xla/counts.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace remaplab::xla {

std::string Plural(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

uint64_t ImportCounts::Lost() const {
  return torn + nameless + without_table + uncompleted_tables + copy_protected + unknown_frees +
         hidden.without_address + hidden.assumed_unchanged;
}

std::string ImportCounts::Json() const {
  JsonWriter json;
  json.BeginObject();
  auto add = [&](std::string_view key, uint64_t count) { json.Key(key).UInt(count); };
  add("runs", runs);
  add("address_tables", tables);
  add("cut_tables", cut_tables);
  add("cut_tables_without_assignment", uncompleted_tables);
  add("hidden_recovered", hidden.recovered);
  add("hidden_without_address", hidden.without_address);
  add("hidden_assumed_unchanged", hidden.assumed_unchanged);
  add("misaligned_allocations", hidden.misaligned);
  add("tables_without_module", nameless);
  add("executions_without_table", without_table);
  add("executions_with_unknown_outputs", copy_protected);
  add("torn_lines", torn);
  add("unknown_frees", unknown_frees);
  add("missing_frees", missing_frees);
  add("found_without_allocation", found);
  json.EndObject();
  return json.TakeText();
}

std::vector<std::string> ImportCounts::Notes() const {
  std::vector<std::string> notes;
  auto note = [&](uint64_t count, std::string_view what, std::string_view text) {
    if (count > 0) {
      notes.push_back(fmt::format("{} {}", Plural(count, what), text));
    }
  };
  note(cut_tables, "address table", "cut by the logger at 15,000 bytes");
  note(uncompleted_tables, "cut table",
       "without an assignment that says what is missing: only the slots shown were captured");
  note(hidden.recovered, "binding", "of hidden slots taken from allocator or mapping lines");
  note(hidden.without_address, "change", "to hidden slots without an address: they count as new memory");
  note(hidden.assumed_unchanged, "binding", "of hidden slots taken as unchanged, which nothing proves");
  note(hidden.misaligned, "execution", "with allocator lines that do not fit the assignment; they were not used");
  note(nameless, "address table",
       "of no module that the log names; gpu_executable=1 or pjrt_stream_executor_client=1 in TF_CPP_VMODULE bring the "
       "names");
  note(without_table, "execution", "without address table left out");
  note(copy_protected, "execution",
       "that gave outputs fresh memory after the table was printed; the log does not say which");
  note(torn, "line", "torn by other output, not read in full");
  note(unknown_frees, "free", "of memory that the log never shows allocated left out");
  note(runs > 1 ? runs : 0, "run", "in this log, one after another; their steps continue");
  return notes;
}

}  // namespace remaplab::xla
