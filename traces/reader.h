// Reads .remaptrace files (traces/FORMAT.md): plain, .zst, .gz, or standard input ("-"); told apart by content.
//
// Every error is kInput or kIo and names file and line, and the event where there is one:
//   t.remaptrace:17: alloc: backing 5 is still allocated
// A file that ends early - no end line, a torn last line, a compressed stream that stops inside a frame - is no error:
// it counts as cut off, and what came before is kept.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "traces/record.h"
#include "traces/trace.h"

namespace remaplab {

// The whole file.
Result<Trace> LoadTrace(const std::string& path);

// The same from memory; `name` stands for the file in messages.
Result<Trace> ParseTrace(std::string_view bytes, const std::string& name);

// One event at a time, in memory that grows with the backings but not with the events.
class TraceReader {
 public:
  static Result<TraceReader> Open(const std::string& path);
  static Result<TraceReader> FromMemory(std::string_view bytes, const std::string& name);  // `bytes` must outlive it

  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  const TraceHeader& header() const;

  // The next event, checked against those before it; valid until the next call. nullptr: the end.
  Result<TraceRecord*> Next();

  // Of backings seen so far, by TraceRecord's dense numbers.
  uint64_t backing_id(uint32_t dense) const;
  uint64_t backing_address(uint32_t dense) const;

  // After Next said the end:
  const TraceEnd& end() const;
  const std::string& cut_off() const;  // how the file ends early; empty when it has its end line
  uint64_t lines() const;
  uint64_t skipped_events() const;  // lines of an event type that this version does not know
  std::string Xxh3() const;         // XXH3-128 of the uncompressed bytes, 32 hex digits

 private:
  class Impl;
  friend Result<Trace> ReadWhole(TraceReader reader);
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace remaplab
