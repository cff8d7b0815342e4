// remaplab trace print: one line per event, as the file streams by.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_writer.h"
#include "replay/cli/table.h"
#include "replay/cli/trace_verbs.h"
#include "traces/reader.h"

namespace remaplab::cli {
namespace {

constexpr size_t kFlushSize = 64 * 1024;
constexpr size_t kShownBindings = 8;  // of a step, for people; json has them all

std::string_view EventName(TraceEventType type) {
  switch (type) {
    case TraceEventType::kProgram:
      return "program";
    case TraceEventType::kProgramEnd:
      return "program_end";
    case TraceEventType::kAlloc:
      return "alloc";
    case TraceEventType::kFree:
    case TraceEventType::kDeferredFree:
      return "free";
    case TraceEventType::kStep:
      return "step";
    case TraceEventType::kMark:
      return "mark";
    case TraceEventType::kTiming:
      return "timing";
  }
  return "";
}

bool IsOfProgram(TraceEventType type) {
  return type == TraceEventType::kProgram || type == TraceEventType::kProgramEnd || type == TraceEventType::kStep;
}

std::string AddressText(uint64_t address) {
  return address == kUnknownAddress ? "unknown address" : fmt::format("{:#x}", address);
}

std::string BindingsText(const TraceRecord& record) {
  std::string text;
  const size_t shown = std::min(record.bind.size(), kShownBindings);
  for (size_t i = 0; i < shown; ++i) {
    const TraceBind& bind = record.bind[i];
    fmt::format_to(std::back_inserter(text), " {}->{}", bind.slot,
                   bind.backing == kNullBacking ? "none" : std::to_string(bind.backing));
  }
  if (record.bind.size() > shown) {
    fmt::format_to(std::back_inserter(text), " and {} more", record.bind.size() - shown);
  }
  return text;
}

// What an event says, behind its name.
std::string Detail(const TraceRecord& record) {
  switch (record.type) {
    case TraceEventType::kProgram: {
      uint64_t bytes = 0;
      for (const TraceSlot& slot : record.program.slots) {
        bytes += slot.size;
      }
      return fmt::format("{} {} on device {}: {} slots, {} bytes", record.program.id, record.program.module,
                         record.program.device, record.program.slots.size(), bytes);
    }
    case TraceEventType::kProgramEnd:
      return fmt::format("{}", record.program_id);
    case TraceEventType::kAlloc:
      return fmt::format("{} at {}, {} bytes{}", record.backing, AddressText(record.address), record.size,
                         record.first_alloc ? "" : ", handed out again");
    case TraceEventType::kFree:
      return fmt::format("{}", record.backing);
    case TraceEventType::kDeferredFree:
      return fmt::format("{}, kept by the allocator", record.backing);
    case TraceEventType::kStep:
      return fmt::format("{} of program {}{}: {} bound, {} changed{}", record.step, record.program_id,
                         record.duration == kUnknownTime ? "" : ", " + HumanTime(record.duration), record.bind.size(),
                         record.first_step ? "all" : std::to_string(record.bound_slot.size()), BindingsText(record));
    case TraceEventType::kMark:
      return record.mark.name;
    case TraceEventType::kTiming:
      return fmt::format("{}: {} for {}", record.timing.kind, HumanTime(record.timing.ns), record.timing.count);
  }
  return "";
}

std::string TableLine(const TraceRecord& record) {
  const std::string time = record.t == kUnknownTime ? "-" : std::to_string(record.t);
  return fmt::format("{:>7} {:>15}  {} {}\n", record.line, time, EventName(record.type), Detail(record));
}

void WriteBindings(JsonWriter& json, const TraceRecord& record) {
  json.Key("bind").BeginArray();
  for (const TraceBind& bind : record.bind) {
    json.BeginArray().UInt(bind.slot);
    if (bind.backing == kNullBacking) {
      json.Null();
    } else {
      json.UInt(bind.backing);
    }
    json.EndArray();
  }
  json.EndArray();
}

void WriteFields(JsonWriter& json, const TraceRecord& record) {
  switch (record.type) {
    case TraceEventType::kProgram:
      json.Key("program").UInt(record.program.id).Key("module").String(record.program.module);
      json.Key("device").Int(record.program.device).Key("slots").UInt(record.program.slots.size());
      break;
    case TraceEventType::kProgramEnd:
      json.Key("program").UInt(record.program_id);
      break;
    case TraceEventType::kAlloc:
      json.Key("backing").UInt(record.backing).Key("address");
      if (record.address == kUnknownAddress) {
        json.Null();
      } else {
        json.String(fmt::format("{:#x}", record.address));
      }
      json.Key("size").UInt(record.size).Key("reused").Bool(!record.first_alloc);
      break;
    case TraceEventType::kFree:
    case TraceEventType::kDeferredFree:
      json.Key("backing").UInt(record.backing);
      json.Key("deferred").Bool(record.type == TraceEventType::kDeferredFree);
      break;
    case TraceEventType::kStep:
      json.Key("program").UInt(record.program_id).Key("step").UInt(record.step);
      if (record.duration != kUnknownTime) {
        json.Key("duration").Int(record.duration);
      }
      json.Key("changed").UInt(record.bound_slot.size());
      WriteBindings(json, record);
      break;
    case TraceEventType::kMark:
      json.Key("name").String(record.mark.name);
      break;
    case TraceEventType::kTiming:
      json.Key("kind").String(record.timing.kind).Key("ns").Int(record.timing.ns);
      json.Key("count").UInt(record.timing.count);
      break;
  }
}

std::string JsonLine(const TraceRecord& record) {
  JsonWriter json;
  json.BeginObject().Key("line").UInt(record.line).Key("event").String(EventName(record.type)).Key("t");
  if (record.t == kUnknownTime) {
    json.Null();
  } else {
    json.Int(record.t);
  }
  WriteFields(json, record);
  json.EndObject();
  return json.TakeText() + "\n";
}

std::vector<Cell> CsvRow(const TraceRecord& record) {
  return {record.line, record.t == kUnknownTime ? Cell::Null() : Cell(record.t), EventName(record.type),
          Detail(record)};
}

// A header line once, then rows without one.
class LinePrinter {
 public:
  explicit LinePrinter(Format format) : format_(format) {}

  Status Add(const TraceRecord& record) {
    if (format_ == Format::kJson) {
      text_ += JsonLine(record);
    } else if (format_ == Format::kTable) {
      text_ += TableLine(record);
    } else {
      rows_.rows.push_back(CsvRow(record));
    }
    return text_.size() >= kFlushSize || rows_.rows.size() >= kRows ? Flush() : Status();
  }

  Status Flush() {
    if (format_ == Format::kCsv) {
      std::string text = rows_.Render(format_);
      text_ += header_printed_ ? text.substr(text.find('\n') + 1) : text;
      header_printed_ = true;
      rows_.rows.clear();
    }
    const Status status = Print(text_);
    text_.clear();
    return status;
  }

 private:
  static constexpr size_t kRows = 1024;

  Format format_;
  std::string text_;
  Table rows_{{"line", "t", "event", "detail"}, {}};
  bool header_printed_ = false;
};

// Which programs --program means, learnt as they are declared.
class ProgramFilter {
 public:
  explicit ProgramFilter(const Arguments& arguments)
      : on_(arguments.Has("program")), wanted_(on_ ? arguments.Get("program") : "") {}

  bool Lets(const TraceRecord& record) {
    if (!on_) {
      return true;
    }
    if (record.type == TraceEventType::kProgram) {
      const TraceProgram& program = record.program;
      if (program.module == wanted_ || std::to_string(program.id) == wanted_) {
        ids_.insert(program.id);
      } else {
        ids_.erase(program.id);
      }
      seen_ = seen_ || ids_.contains(program.id);
      return ids_.contains(program.id);
    }
    return IsOfProgram(record.type) && ids_.contains(record.program_id);
  }

  Status Check() const {
    return on_ && !seen_ ? Fail(ErrorCode::kUsage, fmt::format("--program: no program '{}' in the trace", wanted_))
                         : Status();
  }

 private:
  bool on_;
  std::string wanted_;
  std::set<uint32_t> ids_;
  bool seen_ = false;
};

}  // namespace

Result<int> TracePrintVerb(const std::string& path, const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  if (format == Format::kMarkdown) {
    return Fail(ErrorCode::kUsage, "--format: print prints table, json or csv");
  }
  REMAPLAB_ASSIGN(TraceReader reader, TraceReader::Open(path));
  LinePrinter printer(format);
  ProgramFilter filter(arguments);
  while (true) {
    auto record = reader.Next();
    if (!record) {
      REMAPLAB_TRY(printer.Flush());
      return Fail(std::move(record).error());
    }
    if (*record == nullptr) {
      break;
    }
    if (filter.Lets(**record)) {
      REMAPLAB_TRY(printer.Add(**record));
    }
  }
  REMAPLAB_TRY(printer.Flush());
  REMAPLAB_TRY(filter.Check());
  if (!reader.cut_off().empty()) {
    Warn(fmt::format("{}: cut off, {}", path, reader.cut_off()));
  }
  return kOk;
}

}  // namespace remaplab::cli
