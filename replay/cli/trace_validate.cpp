// remaplab trace validate: reads a file to its end and says whether it is whole and what is odd about it.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "replay/cli/table.h"
#include "replay/cli/trace_verbs.h"
#include "traces/reader.h"
#include "traces/validator.h"

namespace remaplab::cli {
namespace {

std::string Text(const std::string& path, const TraceReader& reader, const TraceValidator& validator) {
  std::string text =
      fmt::format("{}: {}: {} lines, {} events, {} programs, {} steps, {} backings, xxh3 {}\n", path,
                  reader.cut_off().empty() ? "fine" : "cut off, " + reader.cut_off(), reader.lines(),
                  validator.events(), validator.programs(), validator.steps(), validator.backings(), reader.Xxh3());
  for (const TraceValidator::Note& note : validator.Notes()) {
    fmt::format_to(std::back_inserter(text), "{}:{}: note: {} ({} times)\n", path, note.first_line, note.text,
                   note.count);
  }
  if (reader.skipped_events() > 0) {
    fmt::format_to(std::back_inserter(text), "{}: note: {} lines of unknown event types skipped\n", path,
                   reader.skipped_events());
  }
  if (reader.end().lost_events > 0) {
    fmt::format_to(std::back_inserter(text), "{}: note: the recording lost {} events\n", path,
                   reader.end().lost_events);
  }
  return text;
}

std::string Json(const std::string& path, const TraceReader& reader, const TraceValidator& validator) {
  JsonWriter json;
  json.BeginObject().Key("file").String(path).Key("valid").Bool(true).Key("cut_off");
  if (reader.cut_off().empty()) {
    json.Null();
  } else {
    json.String(reader.cut_off());
  }
  json.Key("lines").UInt(reader.lines()).Key("events").UInt(validator.events());
  json.Key("programs").UInt(validator.programs()).Key("steps").UInt(validator.steps());
  json.Key("backings").UInt(validator.backings()).Key("skipped_events").UInt(reader.skipped_events());
  json.Key("lost_events").UInt(reader.end().lost_events).Key("xxh3").String(reader.Xxh3()).Key("notes").BeginArray();
  for (const TraceValidator::Note& note : validator.Notes()) {
    json.BeginObject().Key("line").UInt(note.first_line).Key("count").UInt(note.count);
    json.Key("text").String(note.text).EndObject();
  }
  json.EndArray().EndObject();
  return json.TakeText() + "\n";
}

}  // namespace

Result<int> TraceValidateVerb(const std::string& path, const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  if (format != Format::kTable && format != Format::kJson) {
    return Fail(ErrorCode::kUsage, "--format: validate prints table or json");
  }
  REMAPLAB_ASSIGN(TraceReader reader, TraceReader::Open(path));
  TraceValidator validator(reader.header().granularity);
  while (true) {
    REMAPLAB_ASSIGN(const TraceRecord* const record, reader.Next());
    if (record == nullptr) {
      break;
    }
    validator.Observe(*record);
  }
  REMAPLAB_TRY(Print(format == Format::kJson ? Json(path, reader, validator) : Text(path, reader, validator)));
  return kOk;
}

}  // namespace remaplab::cli
