// Turns what XLA logged during a run into a trace, line by line and in bounded memory: the memory grows with the
// programs and with the buffers that are alive, not with the log.
//
//   XlaLogImporter importer(options, [&](const TraceHeader& header) { return TraceWriter::Create(path, header); });
//   for each line: REMAPLAB_TRY(importer.Line(line));
//   REMAPLAB_ASSIGN(const ImportReport report, importer.Finish());
//
// How a log becomes programs and steps:
// - An execution is what one thread prints between an address table and the end of the execution. Its module is named
// by
//   the "Start calling RunAsync" before the table, or by the lines after it ("Start GpuExecutable::ExecuteOnStream").
// - Module names are not unique: executables of one name with other tables are programs of their own (one executable on
//   one device is one program). Executables with the same name and the same table cannot be told apart and are one.
// - The bindings are the table's. What a table that was cut short hides is taken from, in this order: the "Mapping
//   allocation" lines, the allocator lines before the table (with an assignment), the "changed address" lines.
//
// One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/importers/report.h"
#include "traces/importers/xla/assignment.h"
#include "traces/writer.h"

namespace remaplab::xla {

struct XlaLogOptions {
  std::string log_name;  // for messages and the header's meta
  std::string tool;      // header
  std::vector<Assignment> assignments;
  std::function<bool(std::string_view module)> wants_module;  // empty: every module
  std::string wanted_modules;                                 // as the user wrote it, for messages
  std::optional<int32_t> device;
  uint64_t granularity = 0;              // 0: from the log
  bool partial = false;                  // a log that ends while XLA still compiles is taken as it is
  bool assignments_may_not_fit = false;  // an assignment that fits nothing is a note, no error
  // Asked for more assignments when a module is first seen; empty: there are none.
  std::function<std::vector<Assignment>(std::string_view module)> find_assignments;
};

class XlaLogImporter {
 public:
  using OpenWriter = std::function<Result<TraceWriter>(const TraceHeader&)>;

  XlaLogImporter(XlaLogOptions options, OpenWriter open);
  XlaLogImporter(XlaLogImporter&&) noexcept;
  ~XlaLogImporter();

  // The next line, without its line feed. Errors: those of the writer.
  Status Line(std::string_view line);

  // Steps written so far.
  uint64_t steps() const;

  // Writes the end of the trace and puts the file in its place. kInput when the log gives no trace: no line of it is
  // XLA's, no address table, no step, none of the module asked for, an assignment that fits nothing; nothing is left
  // then.
  Result<ImportReport> Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace remaplab::xla
