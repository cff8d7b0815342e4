// Writes a .remaptrace file (traces/FORMAT.md) event by event, in constant memory.
//
//   REMAPLAB_ASSIGN(TraceWriter writer, TraceWriter::Create("t.remaptrace.zst", header));
//   writer.Program(program);
//   writer.Alloc({.backing = 1, .address = 0x7f00, .size = 4096, .t = 10});
//   writer.Step({.program = 0, .step = 1, .t = 20, .bind = {{{0, 1}}}});
//   REMAPLAB_TRY(writer.Finish(end));
//
// The file appears under its name in one piece, when Finish succeeds; until then, and after a crash or a writer that
// was dropped without Finish, the name holds what it held before. Finish may be called at any moment: a run that was
// killed half-way still becomes a valid trace of what was seen.
//
// The writer spells events and checks nothing but the I/O: the rules of the format are the reader's (traces/reader.h).
// One thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "traces/trace.h"

namespace remaplab {

// The `null` of a bind entry: the slot has no memory on this step.
inline constexpr uint64_t kNullBacking = std::numeric_limits<uint64_t>::max();

// One entry of a step's `bind`.
struct TraceBind {
  uint32_t slot = 0;                // the slot's `index`, not its position in the table
  uint64_t backing = kNullBacking;  // the backing's id in the file
};

struct TraceAlloc {
  uint64_t backing = 0;
  uint64_t address = kUnknownAddress;
  uint64_t size = 0;  // bytes asked for, > 0
  int64_t t = kUnknownTime;
  bool reused = false;  // the allocator handed memory out again that it had kept (a deferred free before)
};

struct TraceStep {
  uint32_t program = 0;  // the program's `id`
  uint64_t step = 0;
  int64_t t = kUnknownTime;
  int64_t duration = kUnknownTime;  // GPU time in ns
  std::span<const TraceBind> bind;  // every slot on the first step after a declaration, then the changed ones
};

class TraceWriter {
 public:
  // Opens the file and writes the header line; `header.meta_json` must be one JSON object. Compresses when `path` ends
  // in .zst. A `path` that is no regular file (a pipe, a device) is written to directly. Error kIo.
  static Result<TraceWriter> Create(const std::string& path, const TraceHeader& header);

  // Gathers the text instead; FinishText returns it.
  static TraceWriter InMemory(const TraceHeader& header);

  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();  // without Finish: leaves nothing behind

  // I/O errors stick: they are seen in status() and returned by Finish.
  void Program(const TraceProgram& program, int64_t t = kUnknownTime);
  void ProgramEnd(uint32_t id, int64_t t = kUnknownTime);
  void Alloc(const TraceAlloc& alloc);
  void Free(uint64_t backing, int64_t t = kUnknownTime);          // the backing's life ends
  void DeferredFree(uint64_t backing, int64_t t = kUnknownTime);  // the allocator keeps the memory
  void Step(const TraceStep& step);
  void Mark(const TraceMark& mark);
  void Timing(const TraceTiming& timing, int64_t t = kUnknownTime);

  uint64_t steps() const;  // written so far
  Status status() const;

  // Writes the end line (`end.present` is not looked at; `end.counts_json` must be one JSON object), makes the bytes
  // durable and puts the file in its place. Call nothing afterwards.
  Status Finish(const TraceEnd& end);
  std::string FinishText(const TraceEnd& end);

 private:
  class Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  void Whole(const Trace& trace);

  friend Status WriteTrace(const Trace& trace, const std::string& path);
  friend std::string TraceToText(const Trace& trace);

  std::unique_ptr<Impl> impl_;
};

// The whole of `trace` as a file; one that was cut off stays without its end line.
Status WriteTrace(const Trace& trace, const std::string& path);

// The same bytes, uncompressed, in memory.
std::string TraceToText(const Trace& trace);

}  // namespace remaplab
