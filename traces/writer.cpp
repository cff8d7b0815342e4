#include "traces/writer.h"

#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/json_writer.h"
#include "traces/output_file.h"

namespace remaplab {
namespace {

constexpr size_t kFlushSize = 256 * 1024;
constexpr int kZstdLevel = 1;  // on traces as small as level 3, in half the time

template <typename Integer>
void AppendInteger(std::string& out, Integer value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, end);
}

void AppendHex(std::string& out, uint64_t value) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value, 16);
  out.append("\"0x").append(digits, end).append("\"");
}

void AppendString(std::string& out, std::string_view text) {
  out += '"';
  AppendJsonEscaped(out, text);
  out += '"';
}

// A raw newline inside a JSON value is only ever white space, and would end the line.
void AppendOnOneLine(std::string& out, std::string_view json) {
  const size_t begin = out.size();
  out += json;
  std::replace_if(
      out.begin() + static_cast<ptrdiff_t>(begin), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

// The spelling of every line; one function per event, each appending one line.

void AppendTime(std::string& out, std::string_view key, int64_t t) {
  if (t != kUnknownTime) {
    out += key;
    AppendInteger(out, t);
  }
}

void AppendHeader(std::string& out, const TraceHeader& header) {
  out += R"({"remaptrace":)";
  AppendInteger(out, header.version);
  out += R"(,"source":)";
  AppendString(out, header.source);
  out += R"(,"tool":)";
  AppendString(out, header.tool);
  out += R"(,"time_unit":"ns","granularity":)";
  AppendInteger(out, header.granularity);
  out += R"(,"allocator":)";
  AppendString(out, header.allocator);
  out += R"(,"meta":)";
  AppendOnOneLine(out, header.meta_json);
  out += "}\n";
}

void AppendSlot(std::string& out, const TraceSlot& slot) {
  out += R"({"index":)";
  AppendInteger(out, slot.index);
  out += R"(,"size":)";
  AppendInteger(out, slot.size);
  out += R"(,"space":)";
  AppendInteger(out, slot.space);
  out += R"(,"kind":)";
  AppendString(out, Name(slot.kind));
  out += R"(,"access":)";
  AppendString(out, Name(slot.access));
  out += R"(,"in_command_buffer":)";
  out += slot.in_command_buffer == Tristate::kUnknown ? "null"
         : slot.in_command_buffer == Tristate::kYes   ? "true"
                                                      : "false";
  out += '}';
}

void AppendProgram(std::string& out, const TraceProgram& program, int64_t t) {
  out += R"({"event":"program","id":)";
  AppendInteger(out, program.id);
  out += R"(,"module":)";
  AppendString(out, program.module);
  out += R"(,"device":)";
  AppendInteger(out, program.device);
  if (program.commands > 0) {
    out += R"(,"commands":)";
    AppendInteger(out, program.commands);
  }
  AppendTime(out, R"(,"t":)", t);
  out += R"(,"slots":[)";
  for (size_t i = 0; i < program.slots.size(); ++i) {
    if (i > 0) {
      out += ',';
    }
    AppendSlot(out, program.slots[i]);
  }
  out += "]}\n";
}

void AppendProgramEnd(std::string& out, uint32_t id, int64_t t) {
  out += R"({"event":"program_end","id":)";
  AppendInteger(out, id);
  AppendTime(out, R"(,"t":)", t);
  out += "}\n";
}

void AppendAlloc(std::string& out, const TraceAlloc& alloc) {
  out += R"({"event":"alloc","backing":)";
  AppendInteger(out, alloc.backing);
  out += R"(,"address":)";
  if (alloc.address == kUnknownAddress) {
    out += "null";
  } else {
    AppendHex(out, alloc.address);
  }
  out += R"(,"size":)";
  AppendInteger(out, alloc.size);
  AppendTime(out, R"(,"t":)", alloc.t);
  out += alloc.reused ? ",\"reused\":true}\n" : "}\n";
}

void AppendFree(std::string& out, uint64_t backing, int64_t t, bool deferred) {
  out += R"({"event":"free","backing":)";
  AppendInteger(out, backing);
  AppendTime(out, R"(,"t":)", t);
  out += deferred ? ",\"deferred\":true}\n" : "}\n";
}

void AppendStep(std::string& out, const TraceStep& step) {
  out += R"({"event":"step","program":)";
  AppendInteger(out, step.program);
  out += R"(,"step":)";
  AppendInteger(out, step.step);
  AppendTime(out, R"(,"t":)", step.t);
  AppendTime(out, R"(,"duration":)", step.duration);
  out += R"(,"bind":[)";
  for (size_t i = 0; i < step.bind.size(); ++i) {
    out += i > 0 ? ",[" : "[";
    AppendInteger(out, step.bind[i].slot);
    out += ',';
    if (step.bind[i].backing == kNullBacking) {
      out += "null";
    } else {
      AppendInteger(out, step.bind[i].backing);
    }
    out += ']';
  }
  out += "]}\n";
}

void AppendMark(std::string& out, const TraceMark& mark) {
  out += R"({"event":"mark","name":)";
  AppendString(out, mark.name);
  AppendTime(out, R"(,"t":)", mark.t);
  out += "}\n";
}

void AppendTiming(std::string& out, const TraceTiming& timing, int64_t t) {
  out += R"({"event":"timing","kind":)";
  AppendString(out, timing.kind);
  out += R"(,"ns":)";
  AppendInteger(out, timing.ns);
  out += R"(,"count":)";
  AppendInteger(out, timing.count);
  AppendTime(out, R"(,"t":)", t);
  out += "}\n";
}

void AppendEnd(std::string& out, const TraceEnd& end) {
  out += R"({"event":"end","identity":)";
  out += end.identity == TraceIdentity::kBacking ? R"("backing")" : R"("address")";
  out += R"(,"starts_mid_life":)";
  out += end.starts_mid_life ? "true" : "false";
  out += R"(,"lost_events":)";
  AppendInteger(out, end.lost_events);
  out += R"(,"counts":)";
  AppendOnOneLine(out, end.counts_json);
  out += "}\n";
}

}  // namespace

// Gathers lines in `text_` and passes them on, compressed or not, in large pieces. Without a file it only gathers.
class TraceWriter::Impl {
 public:
  Impl() = default;
  Impl(OutputFile file, bool compress) : file_(std::move(file)) {
    if (compress) {
      zstd_.reset(ZSTD_createCCtx());
      ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, kZstdLevel);
      ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_checksumFlag, 1);
      compressed_.resize(ZSTD_CStreamOutSize());
    }
  }

  std::string& text() { return text_; }

  void LineDone() {
    if (file_ && text_.size() >= kFlushSize) {
      Flush(ZSTD_e_continue);
    }
  }

  void StepDone() {
    ++steps_;
    LineDone();
  }

  uint64_t steps() const { return steps_; }
  const Status& status() const { return status_; }

  Status Finish() {
    Flush(ZSTD_e_end);
    REMAPLAB_TRY(status_);
    return file_->Commit();
  }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  void Flush(ZSTD_EndDirective directive) {
    if (status_ && zstd_) {
      status_ = Compress(directive);
    } else if (status_) {
      status_ = file_->Write(text_);
    }
    text_.clear();
  }

  Status Compress(ZSTD_EndDirective directive) {
    ZSTD_inBuffer in = {text_.data(), text_.size(), 0};
    size_t left = 0;
    do {
      ZSTD_outBuffer out = {compressed_.data(), compressed_.size(), 0};
      left = ZSTD_compressStream2(zstd_.get(), &out, &in, directive);
      if (ZSTD_isError(left)) {
        return Fail(ErrorCode::kInternal, std::string("zstd: ") + ZSTD_getErrorName(left));
      }
      REMAPLAB_TRY(file_->Write({compressed_.data(), out.pos}));
    } while (in.pos < in.size || (directive == ZSTD_e_end && left > 0));
    return {};
  }

  std::optional<OutputFile> file_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> zstd_;  // null: plain text
  std::vector<char> compressed_;
  std::string text_;
  uint64_t steps_ = 0;
  Status status_;
};

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;
TraceWriter& TraceWriter::operator=(TraceWriter&&) noexcept = default;
TraceWriter::~TraceWriter() = default;

Result<TraceWriter> TraceWriter::Create(const std::string& path, const TraceHeader& header) {
  REMAPLAB_ASSIGN(OutputFile file, OutputFile::Create(path));
  TraceWriter writer(std::make_unique<Impl>(std::move(file), path.ends_with(".zst")));
  AppendHeader(writer.impl_->text(), header);
  return writer;
}

TraceWriter TraceWriter::InMemory(const TraceHeader& header) {
  TraceWriter writer(std::make_unique<Impl>());
  AppendHeader(writer.impl_->text(), header);
  return writer;
}

void TraceWriter::Program(const TraceProgram& program, int64_t t) {
  AppendProgram(impl_->text(), program, t);
  impl_->LineDone();
}

void TraceWriter::ProgramEnd(uint32_t id, int64_t t) {
  AppendProgramEnd(impl_->text(), id, t);
  impl_->LineDone();
}

void TraceWriter::Alloc(const TraceAlloc& alloc) {
  AppendAlloc(impl_->text(), alloc);
  impl_->LineDone();
}

void TraceWriter::Free(uint64_t backing, int64_t t) {
  AppendFree(impl_->text(), backing, t, false);
  impl_->LineDone();
}

void TraceWriter::DeferredFree(uint64_t backing, int64_t t) {
  AppendFree(impl_->text(), backing, t, true);
  impl_->LineDone();
}

void TraceWriter::Step(const TraceStep& step) {
  AppendStep(impl_->text(), step);
  impl_->StepDone();
}

void TraceWriter::Mark(const TraceMark& mark) {
  AppendMark(impl_->text(), mark);
  impl_->LineDone();
}

void TraceWriter::Timing(const TraceTiming& timing, int64_t t) {
  AppendTiming(impl_->text(), timing, t);
  impl_->LineDone();
}

uint64_t TraceWriter::steps() const { return impl_->steps(); }
Status TraceWriter::status() const { return impl_->status(); }

Status TraceWriter::Finish(const TraceEnd& end) {
  AppendEnd(impl_->text(), end);
  return impl_->Finish();
}

std::string TraceWriter::FinishText(const TraceEnd& end) {
  AppendEnd(impl_->text(), end);
  return std::move(impl_->text());
}

void TraceWriter::Whole(const Trace& trace) {
  std::vector<bool> seen(trace.backings());
  std::vector<TraceBind> bind;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const auto [type, ref] = trace.events[i];
    const int64_t t = trace.event_t[i];
    switch (type) {
      case TraceEventType::kProgram:
        Program(trace.programs[ref], t);
        break;
      case TraceEventType::kProgramEnd:
        ProgramEnd(trace.programs[ref].id, t);
        break;
      case TraceEventType::kAlloc:
        Alloc({trace.backing_id[ref], trace.backing_address[ref], trace.backing_size[ref], t, seen[ref]});
        seen[ref] = true;
        break;
      case TraceEventType::kFree:
        Free(trace.backing_id[ref], t);
        break;
      case TraceEventType::kDeferredFree:
        DeferredFree(trace.backing_id[ref], t);
        break;
      case TraceEventType::kStep: {
        const TraceProgram& program = trace.programs[trace.step_program[ref]];
        bind.clear();
        for (size_t k = trace.step_bind_begin[ref]; k < trace.step_bind_begin[ref + 1]; ++k) {
          const uint32_t backing = trace.bind_backing[k];
          bind.push_back({program.slots[trace.bind_slot[k]].index,
                          backing == kUnboundSlot ? kNullBacking : trace.backing_id[backing]});
        }
        Step({program.id, trace.step_number[ref], t, trace.step_duration[ref], bind});
        break;
      }
      case TraceEventType::kMark:
        Mark(trace.marks[ref]);
        break;
      case TraceEventType::kTiming:
        Timing(trace.timings[ref], t);
        break;
    }
  }
  if (trace.end.present) {
    AppendEnd(impl_->text(), trace.end);
  }
}

Status WriteTrace(const Trace& trace, const std::string& path) {
  REMAPLAB_ASSIGN(TraceWriter writer, TraceWriter::Create(path, trace.header));
  writer.Whole(trace);
  return writer.impl_->Finish();
}

std::string TraceToText(const Trace& trace) {
  TraceWriter writer = TraceWriter::InMemory(trace.header);
  writer.Whole(trace);
  return std::move(writer.impl_->text());
}

}  // namespace remaplab
