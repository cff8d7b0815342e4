#include "traces/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "traces/line_parser.h"
#include "traces/line_reader.h"
#include "traces/rules.h"

namespace remaplab {
namespace {

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

class TraceReader::Impl {
 public:
  Impl(ByteSource source, std::string name) : lines_(std::move(source)), name_(std::move(name)) {}

  Status ReadHeader() {
    REMAPLAB_ASSIGN(const std::optional<LineReader::Line> line, NextLine());
    if (!line) {
      return Fail(ErrorCode::kInput, fmt::format("{}: not a remaptrace: the file is empty", name_));
    }
    auto header = parser_.Header(line->text);
    if (!header) {
      return Fail(Located(std::move(header).error(), lines_.line_number()));
    }
    header_ = std::move(*header);
    rules_ = TraceRules(header_.granularity);
    return {};
  }

  Result<TraceRecord*> Next() {
    while (true) {
      REMAPLAB_ASSIGN(const std::optional<LineReader::Line> line, NextLine());
      if (!line) {
        NoteMissingEnd();
        return nullptr;
      }
      if (end_.present) {
        return Fail(Located(Error(ErrorCode::kInput, "a line after the end line"), lines_.line_number()));
      }
      auto kind = parser_.Event(line->text, record_, end_);
      if (!kind && !line->terminated && parser_.not_json()) {
        cut_off_ = fmt::format("line {} is torn", lines_.line_number());
        return nullptr;
      }
      if (!kind) {
        return Fail(Located(std::move(kind).error(), lines_.line_number()));
      }
      if (*kind == LineParser::Kind::kUnknown) {
        ++skipped_events_;
      }
      if (*kind != LineParser::Kind::kRecord) {
        continue;
      }
      record_.line = lines_.line_number();
      if (Status status = rules_.Apply(record_); !status) {
        return Fail(Located(std::move(status).error(), record_.line));
      }
      return &record_;
    }
  }

  const TraceHeader& header() const { return header_; }
  TraceRules& rules() { return rules_; }
  const TraceEnd& end() const { return end_; }
  const std::string& cut_off() const { return cut_off_; }
  uint64_t lines() const { return lines_.line_number(); }
  uint64_t skipped_events() const { return skipped_events_; }
  std::string Xxh3() const { return lines_.Xxh3(); }

 private:
  Error Located(Error error, uint64_t line) const {
    return std::move(error).WithContext(fmt::format("{}:{}", name_, line));
  }

  // The next line that is not blank.
  Result<std::optional<LineReader::Line>> NextLine() {
    while (true) {
      auto line = lines_.Next();
      if (!line) {
        return Fail(Located(std::move(line).error(), lines_.line_number() + 1));
      }
      if (!*line || !IsBlank((*line)->text)) {
        return *line;
      }
    }
  }

  void NoteMissingEnd() {
    if (!end_.present) {
      cut_off_ = fmt::format("after line {} {}", lines_.line_number(),
                             lines_.truncated() ? "the compressed data stops" : "there is no end line");
    }
  }

  LineReader lines_;
  std::string name_;
  LineParser parser_;
  TraceHeader header_;
  TraceRules rules_{0};
  TraceRecord record_;
  TraceEnd end_;
  std::string cut_off_;
  uint64_t skipped_events_ = 0;
};

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

Result<TraceReader> TraceReader::Open(const std::string& path) {
  const std::string name = path == "-" ? "<stdin>" : path;
  auto source = ByteSource::Open(path);
  if (!source) {
    return Fail(std::move(source).error().WithContext(name));
  }
  TraceReader reader(std::make_unique<Impl>(std::move(*source), name));
  REMAPLAB_TRY(reader.impl_->ReadHeader());
  return reader;
}

Result<TraceReader> TraceReader::FromMemory(std::string_view bytes, const std::string& name) {
  auto source = ByteSource::FromMemory(bytes);
  if (!source) {
    return Fail(std::move(source).error().WithContext(name));
  }
  TraceReader reader(std::make_unique<Impl>(std::move(*source), name));
  REMAPLAB_TRY(reader.impl_->ReadHeader());
  return reader;
}

const TraceHeader& TraceReader::header() const { return impl_->header(); }
Result<TraceRecord*> TraceReader::Next() { return impl_->Next(); }
uint64_t TraceReader::backing_id(uint32_t dense) const { return impl_->rules().backing_id(dense); }
uint64_t TraceReader::backing_address(uint32_t dense) const { return impl_->rules().backing_address(dense); }
const TraceEnd& TraceReader::end() const { return impl_->end(); }
const std::string& TraceReader::cut_off() const { return impl_->cut_off(); }
uint64_t TraceReader::lines() const { return impl_->lines(); }
uint64_t TraceReader::skipped_events() const { return impl_->skipped_events(); }
std::string TraceReader::Xxh3() const { return impl_->Xxh3(); }

namespace {

// Adds one record to the arrays of `trace`.
void Append(Trace& trace, TraceRecord& record) {
  uint32_t ref = 0;
  switch (record.type) {
    case TraceEventType::kProgram:
      ref = record.declaration;
      trace.programs.push_back(std::move(record.program));
      break;
    case TraceEventType::kProgramEnd:
      ref = record.declaration;
      break;
    case TraceEventType::kAlloc:
    case TraceEventType::kFree:
    case TraceEventType::kDeferredFree:
      ref = record.dense_backing;
      break;
    case TraceEventType::kStep:
      ref = static_cast<uint32_t>(trace.steps());
      trace.step_program.push_back(record.declaration);
      trace.step_number.push_back(record.step);
      trace.step_duration.push_back(record.duration);
      trace.bind_slot.insert(trace.bind_slot.end(), record.bound_slot.begin(), record.bound_slot.end());
      trace.bind_backing.insert(trace.bind_backing.end(), record.bound_backing.begin(), record.bound_backing.end());
      trace.step_bind_begin.push_back(trace.bind_slot.size());
      break;
    case TraceEventType::kMark:
      ref = static_cast<uint32_t>(trace.marks.size());
      trace.marks.push_back(record.mark);
      break;
    case TraceEventType::kTiming:
      ref = static_cast<uint32_t>(trace.timings.size());
      trace.timings.push_back(record.timing);
      break;
  }
  trace.events.push_back({record.type, ref});
  trace.event_t.push_back(record.t);
}

}  // namespace

Result<Trace> ReadWhole(TraceReader reader) {
  Trace trace;
  while (true) {
    REMAPLAB_ASSIGN(TraceRecord* const record, reader.Next());
    if (record == nullptr) {
      break;
    }
    Append(trace, *record);
  }
  trace.header = reader.header();
  trace.end = reader.end();
  trace.xxh3 = reader.Xxh3();
  trace.skipped_events = reader.skipped_events();
  TraceRules& rules = reader.impl_->rules();
  trace.backing_id = std::move(rules).TakeIds();
  trace.backing_address = std::move(rules).TakeAddresses();
  trace.backing_size = std::move(rules).TakeSizes();
  return trace;
}

Result<Trace> LoadTrace(const std::string& path) {
  REMAPLAB_ASSIGN(TraceReader reader, TraceReader::Open(path));
  return ReadWhole(std::move(reader));
}

Result<Trace> ParseTrace(std::string_view bytes, const std::string& name) {
  REMAPLAB_ASSIGN(TraceReader reader, TraceReader::FromMemory(bytes, name));
  return ReadWhole(std::move(reader));
}

}  // namespace remaplab
