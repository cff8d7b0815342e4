#include "traces/importers/xla/log_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/json_writer.h"
#include "traces/importers/xla/backings.h"
#include "traces/importers/xla/counts.h"
#include "traces/importers/xla/execution.h"
#include "traces/importers/xla/fields.h"
#include "traces/importers/xla/log_line.h"
#include "traces/importers/xla/message.h"
#include "traces/importers/xla/program.h"
#include "traces/importers/xla/prologue.h"
#include "traces/importers/xla/scanner.h"

namespace remaplab::xla {
namespace {

constexpr uint64_t kArenaRounding = 256;        // what XLA's arena allocator rounds to
constexpr int64_t kAnotherRun = 1'000'000'000;  // time going back by this much is no disorder between threads
constexpr size_t kMostThreads = 4096;
constexpr size_t kMostAllocatedLines = 65536;
constexpr size_t kMostModuleNames = 1024;
constexpr size_t kModulesInMessage = 8;

struct Thread {
  std::string module;  // of "Start calling RunAsync", until its table comes
  int32_t run_device = -1;
  Execution execution;
  std::vector<AllocatedLine> allocated;  // since the last execution ended or this one started
};

}  // namespace

class XlaLogImporter::Impl {
 public:
  Impl(XlaLogOptions options, OpenWriter open) : options_(std::move(options)), open_(std::move(open)) {
    fitted_.assign(options_.assignments.size(), false);
  }

  Status Line(std::string_view line) {
    ++lines_;
    if (started_) {
      Process(coloured_ ? WithoutEscapes(line, unescaped_) : line);
      return writer_->status();
    }
    const std::string_view plain = WithoutEscapes(line, unescaped_);
    coloured_ = coloured_ || plain.size() != line.size();
    prologue_.Look(plain);
    held_.append(plain).append("\n");
    return held_.size() < Prologue::kBytes ? Status() : Start();
  }

  uint64_t steps() const { return writer_ ? writer_->steps() : 0; }
  Result<ImportReport> Finish();

 private:
  Status Start();
  void Process(std::string_view text);
  bool Dispatch(const LogLine& line, Message message, std::string_view rest);
  void Foreign(std::string_view text);
  bool StartsColours(std::string_view text);

  bool OnTable(const LogLine& line, std::string_view rest);
  bool OnAllocated(const LogLine& line, std::string_view rest, bool reused);
  bool OnFreed(const LogLine& line, std::string_view rest, bool completed);
  bool OnChanged(const LogLine& line, std::string_view rest);
  bool OnRunStart(const LogLine& line, std::string_view rest);
  bool OnModule(const LogLine& line, std::string_view rest);
  bool OnRemapModule(const LogLine& line, std::string_view rest);
  bool OnEnd(const LogLine& line, std::string_view rest);
  bool OnCommandBuffer(const LogLine& line, std::string_view rest, CallKind kind);
  void AddTiming(const LogLine& line, std::string_view kind, int64_t ns, uint64_t count);
  bool OnReserved(const LogLine& line, std::string_view rest);
  bool OnMapping(const LogLine& line, std::string_view rest);
  bool OnRemapTiming(const LogLine& line, std::string_view rest);
  bool OnSyncTiming(const LogLine& line, std::string_view rest);
  bool OnClient(const LogLine& line, std::string_view rest);
  bool OnStep(const LogLine& line, std::string_view rest);
  bool AtEndOrGlued(const Scanner& scan);

  Thread& ThreadOf(uint64_t id);
  Execution& Open(Thread& thread, const LogLine& line);
  void Close(Thread& thread);
  void CloseAll();
  Program* Find(Execution& execution);
  Program* Declare(const Execution& execution, std::vector<uint32_t>& candidates);
  int64_t Time(const LogLine& line);
  void AnotherProcess(int64_t t);
  void CountModule(const std::string& module);

  Status WhyNoTrace() const;
  std::string ModulesSeen() const;
  TraceEnd End();
  std::vector<std::string> Notes() const;

  XlaLogOptions options_;
  OpenWriter open_;
  Prologue prologue_;
  std::string held_;  // the start of the log, until the header is written
  bool started_ = false;
  uint64_t granularity_ = 0;
  std::optional<TraceWriter> writer_;
  std::optional<Backings> backings_;
  LogClock clock_;
  int64_t now_ = 0;
  bool went_back_ = false;  // the time, and no other run was seen since
  bool coloured_ = false;   // the log has terminal escape sequences
  std::string unescaped_;

  std::unordered_map<uint64_t, Thread> threads_;
  uint64_t last_thread_id_ = 0;
  Thread* last_thread_ = nullptr;
  bool closing_ = false;
  std::string_view glued_;  // another entry behind the one that is read
  Thread* torn_table_ = nullptr;

  std::vector<Program> programs_;
  std::map<std::pair<int32_t, std::string>, std::vector<uint32_t>, std::less<>> by_module_;  // last used first
  std::vector<bool> fitted_;                                                                 // per assignment

  bool changed_lines_ = false;  // the log has "changed address" lines
  bool reuse_lines_ = false;    // 0.10: the log tells fresh memory from memory handed out again
  bool clients_ = false;        // the log shows how the client was created
  std::map<int32_t, uint64_t> registered_;
  std::string built_;  // the module of the executable built last
  uint64_t built_since_execution_ = 0;

  uint64_t lines_ = 0;
  uint64_t xla_lines_ = 0;
  ImportCounts counts_;
  std::map<std::string, uint64_t, std::less<>> modules_;  // executions of all modules, wanted or not
};

// --- Lines ---------------------------------------------------------------------------------------------------------

Status XlaLogImporter::Impl::Start() {
  started_ = true;
  granularity_ = options_.granularity != 0 ? options_.granularity : prologue_.granularity();
  changed_lines_ = prologue_.changed_lines();
  TraceHeader header;
  header.source = "xla-log";
  header.tool = options_.tool;
  header.granularity = granularity_;
  header.allocator = prologue_.allocator();
  JsonWriter meta;
  meta.BeginObject().Key("log").String(options_.log_name);
  if (!prologue_.device_name().empty()) {
    meta.Key("device").String(prologue_.device_name());
  }
  meta.EndObject();
  header.meta_json = meta.TakeText();
  REMAPLAB_ASSIGN(writer_, open_(header));
  backings_.emplace(granularity_ != 0 ? granularity_ : kArenaRounding, !prologue_.vmm());
  backings_->SetWriter(&*writer_);
  backings_->SetBeforeEnd([this] { CloseAll(); });
  const std::string held = std::move(held_);
  std::string_view rest = held;
  while (!rest.empty()) {
    const size_t feed = rest.find('\n');
    Process(rest.substr(0, feed));
    rest.remove_prefix(feed + 1);
  }
  return writer_->status();
}

void XlaLogImporter::Impl::Process(std::string_view text) {
  while (!text.empty()) {
    if (text.back() == '\r') {
      text.remove_suffix(1);
    }
    LogLine line;
    if (!ParseLogLine(text, line)) {
      if (StartsColours(text)) {
        return Process(WithoutEscapes(text, unescaped_));
      }
      const size_t prefix = FindLogPrefix(text, 0);
      Foreign(text.substr(0, prefix));
      if (prefix == std::string_view::npos) {
        return;
      }
      text.remove_prefix(prefix);
      continue;
    }
    std::string_view rest;
    const Message message = Classify(line.message, rest);
    if (message == Message::kOther) {
      // An entry of interest may stand in the middle of one that is of none.
      const size_t prefix =
          line.message.find("] ") == std::string_view::npos ? std::string_view::npos : FindLogPrefix(line.message, 0);
      if (prefix != std::string_view::npos) {
        text = line.message.substr(prefix);
        continue;
      }
      if (line.message.starts_with('\x1b') && StartsColours(text)) {
        return Process(WithoutEscapes(text, unescaped_));
      }
      return;
    }
    ++xla_lines_;
    glued_ = {};
    if (Dispatch(line, message, rest)) {
      text = glued_;
      continue;
    }
    if (StartsColours(text)) {
      return Process(WithoutEscapes(text, unescaped_));
    }
    // Other output tore it, perhaps with an entry of its own.
    ++counts_.torn;
    const size_t prefix = FindLogPrefix(text, 1);
    text = prefix == std::string_view::npos ? std::string_view() : text.substr(prefix);
  }
}

// Whether `text` is coloured though nothing was before.
bool XlaLogImporter::Impl::StartsColours(std::string_view text) {
  if (coloured_ || text.find('\x1b') == std::string_view::npos) {
    return false;
  }
  return coloured_ = true;
}

// True when the message was read; false when it is damaged.
bool XlaLogImporter::Impl::Dispatch(const LogLine& line, Message message, std::string_view rest) {
  switch (message) {
    case Message::kTable:
      return OnTable(line, rest);
    case Message::kChanged:
      return OnChanged(line, rest);
    case Message::kAllocated:
      return OnAllocated(line, rest, false);
    case Message::kReused:
      return OnAllocated(line, rest, true);
    case Message::kFreed:
      return OnFreed(line, rest, false);
    case Message::kCompleted:
      return OnFreed(line, rest, true);
    case Message::kRunStart:
      return OnRunStart(line, rest);
    case Message::kPrepared:
    case Message::kExecuteStart:
      return OnModule(line, rest);
    case Message::kRemapModule:
      return OnRemapModule(line, rest);
    case Message::kExecuteEnd:
    case Message::kExecuteTime:
    case Message::kRunEnd:
      return OnEnd(line, rest);
    case Message::kCaptured:
      return OnCommandBuffer(line, rest, CallKind::kCapture);
    case Message::kUpdated:
      return OnCommandBuffer(line, rest, CallKind::kUpdate);
    case Message::kReserved:
    case Message::kReservedRange:
      return OnReserved(line, rest);
    case Message::kMapping:
      return OnMapping(line, rest);
    case Message::kRemapTiming:
      return OnRemapTiming(line, rest);
    case Message::kSyncTiming:
      return OnSyncTiming(line, rest);
    case Message::kStep:
      return OnStep(line, rest);
    case Message::kCopied:
      ThreadOf(line.thread).execution.shadowed = true;
      return true;
    case Message::kCopyProtection:
      ThreadOf(line.thread).execution.copy_protected = true;
      return true;
    case Message::kClient:
      return OnClient(line, rest);
    case Message::kAllocator: {
      const int64_t t = Time(line);
      if (went_back_) {
        AnotherProcess(t);
      }
      clients_ = true;
      return true;
    }
    case Message::kBuilt: {
      Scanner scan(rest);
      std::string_view module;
      if (scan.SkipPast("for module ") && scan.Word(module)) {
        built_ = module;
        ++built_since_execution_;
      }
      return true;
    }
    case Message::kMappedAlias:
    case Message::kOther:
      return true;
  }
  return true;
}

// Text that is not XLA's: training output, progress bars, or the rest of a torn table.
void XlaLogImporter::Impl::Foreign(std::string_view text) {
  constexpr std::string_view kStep = "completed step: ";
  if (text.starts_with(kStep)) {
    OnStep(LogLine{}, text.substr(kStep.size()));
  } else if (torn_table_ != nullptr && text.find(" B)") != std::string_view::npos) {
    torn_table_->execution.table += text;
    torn_table_ = nullptr;
  }
}

int64_t XlaLogImporter::Impl::Time(const LogLine& line) {
  const int64_t t = clock_.Nanoseconds(line.stamp);
  went_back_ = went_back_ || now_ - t > kAnotherRun;
  if (went_back_ && !clients_) {
    AnotherProcess(t);
  }
  now_ = std::max(now_, t);
  return t;
}

// The log goes on with another run, whose first line is at `t`: no memory of the one before is left. A log that shows
// how clients are created shows it again; in one that does not, time that goes back is all there is to see.
void XlaLogImporter::Impl::AnotherProcess(int64_t t) {
  CloseAll();
  backings_->EndAll(now_);
  now_ = t;
  went_back_ = false;
  threads_.clear();
  last_thread_ = nullptr;
  torn_table_ = nullptr;
  ++counts_.runs;
  for (auto& [device, count] : registered_) {
    count = std::min(count, counts_.runs);
  }
}

Thread& XlaLogImporter::Impl::ThreadOf(uint64_t id) {
  if (last_thread_ != nullptr && last_thread_id_ == id) {
    return *last_thread_;
  }
  if (threads_.size() >= kMostThreads) {
    std::erase_if(threads_, [](const auto& entry) { return !entry.second.execution.open; });
    torn_table_ = nullptr;
  }
  last_thread_id_ = id;
  last_thread_ = &threads_[id];
  return *last_thread_;
}

// What may stand behind an entry: nothing, or another entry whose line feed got lost.
bool XlaLogImporter::Impl::AtEndOrGlued(const Scanner& scan) {
  if (scan.AtEnd()) {
    return true;
  }
  const size_t prefix = FindLogPrefix(scan.rest(), 0);
  if (prefix != 0) {
    return false;
  }
  glued_ = scan.rest();
  return true;
}

bool XlaLogImporter::Impl::OnAllocated(const LogLine& line, std::string_view rest, bool reused) {
  Scanner scan(rest);
  MemoryFields memory;
  if (!(reused ? ReadReused(scan, memory) : ReadAllocated(scan, memory)) || !AtEndOrGlued(scan)) {
    return false;
  }
  if (memory.address == 0 || memory.size == 0) {
    return true;
  }
  // Until 0.10.2 the file had this name, and memory that is handed out again has a line of its own.
  const bool fresh = line.file == "vmm_device_address_allocator.cc" && !reused;
  reuse_lines_ = reuse_lines_ || fresh || reused;
  backings_->Allocated(memory.device, memory.address, memory.size, fresh, Time(line));
  Thread& thread = ThreadOf(line.thread);
  if (thread.allocated.size() >= kMostAllocatedLines) {
    thread.allocated.erase(thread.allocated.begin(), thread.allocated.begin() + kMostAllocatedLines / 2);
  }
  thread.allocated.push_back({memory.address, memory.size});
  return true;
}

bool XlaLogImporter::Impl::OnFreed(const LogLine& line, std::string_view rest, bool completed) {
  Scanner scan(rest);
  MemoryFields memory;
  if (!ReadFreed(scan, memory) || !AtEndOrGlued(scan)) {
    return false;
  }
  const int64_t t = Time(line);
  if (completed) {
    reuse_lines_ = true;
    backings_->Completed(memory.device, memory.address, t);
  } else {
    backings_->Freed(memory.device, memory.address, t);
  }
  return true;
}

bool XlaLogImporter::Impl::OnRunStart(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  RunFields run;
  if (!ReadRunStart(scan, run)) {
    return false;
  }
  Time(line);
  Thread& thread = ThreadOf(line.thread);
  Close(thread);
  thread.module = run.module;
  thread.run_device = run.device;
  thread.allocated.clear();
  return true;
}

bool XlaLogImporter::Impl::OnTable(const LogLine& line, std::string_view rest) {
  const int64_t t = Time(line);
  Thread& thread = ThreadOf(line.thread);
  if (thread.execution.open && thread.execution.has_table) {
    Close(thread);
  }
  Execution& execution = Open(thread, line);
  std::string_view table = rest;
  if (!table.ends_with(" B)")) {
    // Cut by the logger, or torn by another writer whose entry stands in the middle of the line.
    const bool foreign = table.find(']') != std::string_view::npos;
    const size_t prefix = foreign ? FindLogPrefix(table, 0) : std::string_view::npos;
    if (prefix != std::string_view::npos) {
      glued_ = table.substr(prefix);
      table = table.substr(0, prefix);
      torn_table_ = &thread;
      ++counts_.torn;
    }
  }
  execution.has_table = true;
  execution.table.assign(table);
  execution.t = t;
  if (!thread.module.empty()) {
    execution.module.swap(thread.module);
    thread.module.clear();
  }
  if (execution.device < 0) {
    execution.device = thread.run_device;
  }
  execution.allocated.swap(thread.allocated);
  thread.allocated.clear();
  ++counts_.tables;
  return true;
}

Execution& XlaLogImporter::Impl::Open(Thread& thread, const LogLine& line) {
  Execution& execution = thread.execution;
  if (!execution.open) {
    execution.open = true;
    execution.t = now_;
  }
  if (line.device >= 0) {
    execution.device = line.device;
  }
  return execution;
}

bool XlaLogImporter::Impl::OnModule(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  std::string_view module;
  if (!scan.Word(module) || scan.rest().find("] ") != std::string_view::npos) {
    return false;  // the name may be torn
  }
  Time(line);
  Execution& execution = Open(ThreadOf(line.thread), line);
  if (execution.module != module) {
    execution.module = module;
  }
  return true;
}

bool XlaLogImporter::Impl::OnRemapModule(const LogLine& line, std::string_view rest) {
  auto says = [&](std::string_view words) { return rest.find(words) != std::string_view::npos; };
  Execution& execution = ThreadOf(line.thread).execution;
  execution.remapped = execution.remapped || (!says("profiling execution") && !says("profile"));
  // The line that begins a remap is enough to know that an execution is there.
  return execution.open || says(" num_allocations=") ? OnModule(line, rest) : true;
}

bool XlaLogImporter::Impl::OnChanged(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  ChangedFields fields;
  Time(line);
  Execution& execution = ThreadOf(line.thread).execution;
  if (!ReadChanged(scan, fields, execution.changed)) {
    return false;
  }
  changed_lines_ = true;
  Open(ThreadOf(line.thread), line);
  execution.module = fields.module;
  execution.changed_cut = fields.cut;
  return true;
}

bool XlaLogImporter::Impl::OnEnd(const LogLine& line, std::string_view) {
  Time(line);
  Close(ThreadOf(line.thread));
  return true;
}

bool XlaLogImporter::Impl::OnCommandBuffer(const LogLine& line, std::string_view rest, CallKind kind) {
  Scanner scan(rest);
  CommandBufferFields fields;
  if (!ReadCommandBuffer(scan, fields)) {
    return false;
  }
  AddTiming(line, Name(kind), fields.ns, fields.commands);
  Execution& execution = ThreadOf(line.thread).execution;
  execution.commands += execution.open && kind == CallKind::kCapture ? fields.commands : 0;
  return true;
}

// What was measured during the thread's execution.
void XlaLogImporter::Impl::AddTiming(const LogLine& line, std::string_view kind, int64_t ns, uint64_t count) {
  Execution& execution = ThreadOf(line.thread).execution;
  if (execution.open) {
    execution.timings.push_back({std::string(kind), ns, count});
  }
}

bool XlaLogImporter::Impl::OnReserved(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  ReservedFields range;
  if (!ReadReserved(scan, range)) {
    return false;
  }
  Time(line);
  backings_->Reserved(std::max(line.device, 0), range.address, range.size);
  return true;
}

bool XlaLogImporter::Impl::OnMapping(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  TableEntry entry;
  if (!ReadMapping(scan, entry)) {
    return false;
  }
  Time(line);
  Execution& execution = Open(ThreadOf(line.thread), line);
  execution.remapped = true;
  if (execution.mapped.empty() || execution.mapped.back().index < entry.index) {
    execution.mapped.push_back(entry);
  }
  return true;
}

bool XlaLogImporter::Impl::OnRemapTiming(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  RemapTimingFields fields;
  if (!ReadRemapTiming(scan, fields)) {
    return false;
  }
  AddTiming(line, Name(CallKind::kUnmap), fields.unmap_ns, fields.changed);
  AddTiming(line, Name(CallKind::kMap), fields.map_ns, fields.changed);
  AddTiming(line, Name(CallKind::kSetAccess), fields.set_access_ns, fields.slices);
  return true;
}

bool XlaLogImporter::Impl::OnSyncTiming(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  SyncTimingFields fields;
  if (!ReadSyncTiming(scan, fields)) {
    return false;
  }
  AddTiming(line, Name(CallKind::kWait), fields.sync_ns, 1);
  AddTiming(line, "remap", fields.remap_ns, 1);
  return true;
}

bool XlaLogImporter::Impl::OnClient(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  uint64_t device = 0;
  if (!scan.Decimal(device) || device > 65535) {
    return false;
  }
  clients_ = true;
  const int64_t t = Time(line);
  if (++registered_[static_cast<int32_t>(device)] > counts_.runs) {
    AnotherProcess(t);
  }
  return true;
}

bool XlaLogImporter::Impl::OnStep(const LogLine& line, std::string_view rest) {
  Scanner scan(rest);
  uint64_t step = 0;
  if (!scan.Decimal(step) || !scan.Skip(",")) {
    return false;
  }
  if (writer_->steps() > 0) {
    writer_->Mark({fmt::format("completed step {}", step), line.stamp.empty() ? now_ : Time(line)});
  }
  return true;
}

// --- Executions ----------------------------------------------------------------------------------------------------

void XlaLogImporter::Impl::CloseAll() {
  if (closing_) {
    return;
  }
  for (auto& [id, thread] : threads_) {
    if (!thread.execution.module.empty()) {
      Close(thread);
    }
  }
}

void XlaLogImporter::Impl::CountModule(const std::string& module) {
  const auto found = modules_.find(module);
  if (found != modules_.end()) {
    ++found->second;
  } else if (modules_.size() < kMostModuleNames) {
    modules_.emplace(module, 1);
  }
}

void XlaLogImporter::Impl::Close(Thread& thread) {
  Execution& execution = thread.execution;
  if (!execution.open) {
    return;
  }
  execution.open = false;
  if (torn_table_ == &thread) {
    torn_table_ = nullptr;
  }
  if (!execution.has_table) {
    execution.allocated.swap(thread.allocated);
  }
  thread.allocated.clear();
  built_since_execution_ = 0;
  counts_.copy_protected += execution.copy_protected && execution.mapped.empty() ? 1 : 0;
  if (execution.module.empty()) {
    counts_.nameless += execution.has_table ? 1 : 0;
  } else {
    CountModule(execution.module);
    const bool wanted = (!options_.wants_module || options_.wants_module(execution.module)) &&
                        (!options_.device || *options_.device == std::max(execution.device, 0));
    if (wanted) {
      closing_ = true;
      if (Program* program = Find(execution)) {
        counts_.cut_tables += execution.has_table && program->table().cut() ? 1 : 0;
        counts_.uncompleted_tables += execution.has_table && program->table().cut() && !program->assigned() ? 1 : 0;
        program->WriteStep(execution, changed_lines_, *backings_, *writer_, counts_.hidden);
      }
      closing_ = false;
    }
  }
  execution.Clear();
}

Program* XlaLogImporter::Impl::Find(Execution& execution) {
  if (!execution.has_table && !execution.mapped.empty()) {
    execution.table = TableOfMapped(execution.mapped);
  }
  std::vector<uint32_t>& candidates = by_module_[{std::max(execution.device, 0), execution.module}];
  if (execution.table.empty() && candidates.size() > 1) {
    ++counts_.without_table;  // nothing tells which of them it was
    return nullptr;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (programs_[candidates[i]].Take(execution, granularity_)) {
      std::rotate(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(i),
                  candidates.begin() + static_cast<ptrdiff_t>(i) + 1);
      return &programs_[candidates.front()];
    }
  }
  return Declare(execution, candidates);
}

Program* XlaLogImporter::Impl::Declare(const Execution& execution, std::vector<uint32_t>& candidates) {
  const Assignment* assignment = nullptr;
  for (size_t i = 0; i < options_.assignments.size() && assignment == nullptr; ++i) {
    if (Program::Fits(options_.assignments[i], execution, granularity_)) {
      assignment = &options_.assignments[i];
      fitted_[i] = true;
    }
  }
  std::vector<Assignment> found;
  if (assignment == nullptr && options_.find_assignments) {
    found = options_.find_assignments(execution.module);
    const auto fits = std::find_if(found.begin(), found.end(), [&](const Assignment& candidate) {
      return Program::Fits(candidate, execution, granularity_);
    });
    assignment = fits == found.end() ? nullptr : &*fits;
  }
  if (execution.table.empty() && assignment == nullptr) {
    ++counts_.without_table;
    return nullptr;
  }
  const uint32_t commands = execution.commands != 0 ? execution.commands : prologue_.CommandsOf(execution.module);
  Program program(static_cast<uint32_t>(programs_.size()), execution, assignment, commands);
  if (program.slots() == 0) {
    counts_.without_table += execution.has_table ? 0 : 1;
    counts_.torn += execution.has_table && !program.has_table() ? 1 : 0;
    return nullptr;
  }
  candidates.insert(candidates.begin(), program.id());
  programs_.push_back(std::move(program));
  return &programs_.back();
}

// --- The end -------------------------------------------------------------------------------------------------------

std::string XlaLogImporter::Impl::ModulesSeen() const {
  std::vector<std::pair<uint64_t, std::string>> most;
  for (const auto& [module, steps] : modules_) {
    most.emplace_back(steps, module);
  }
  std::sort(most.begin(), most.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::string text;
  for (size_t i = 0; i < most.size() && i < kModulesInMessage; ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", most[i].second, most[i].first);
  }
  return most.size() > kModulesInMessage ? text + fmt::format(" and {} more", most.size() - kModulesInMessage) : text;
}

Status XlaLogImporter::Impl::WhyNoTrace() const {
  auto refuse = [](std::string why) -> Status { return Fail(ErrorCode::kInput, std::move(why)); };
  if (lines_ == 0) {
    return refuse("the log is empty");
  }
  if (xla_lines_ == 0) {
    return refuse(
        prologue_.any_log_line()
            ? "no line of this log is one that XLA prints about executions or memory: it ends before the first step, "
              "or "
              "TF_CPP_MIN_LOG_LEVEL=0 and TF_CPP_VMODULE=se_gpu_pjrt_client=3,gpu_executable=5 were not set when the "
              "process started"
            : "this is not a log of XLA: no line of it begins as XLA's log lines do");
  }
  const std::string ending = built_since_execution_ == 0
                                 ? ""
                                 : fmt::format(
                                       "; it ends while XLA was still compiling (module {} was built and never ran),"
                                       " so the process was probably killed during start-up",
                                       built_);
  if (steps() == 0 && counts_.tables == 0 && counts_.without_table > 0) {
    return refuse(fmt::format(
        "the log has no address tables (lines with 'Buffer allocations: Buffer 0 -> ...'); they come with "
        "se_gpu_pjrt_client=3 in TF_CPP_VMODULE{}. Executions seen: {}{}",
        options_.assignments.empty() ? "; without them, --assignment with the module's buffer assignment is needed"
                                     : "",
        ModulesSeen(), ending));
  }
  if (steps() == 0 && counts_.nameless > 0 && modules_.empty()) {
    return refuse(
        fmt::format("the log has {} but no line that names their module; those come with gpu_executable=1 or "
                    "pjrt_stream_executor_client=1 in TF_CPP_VMODULE",
                    Plural(counts_.nameless, "address table")));
  }
  if (steps() == 0 && modules_.empty()) {
    return refuse(fmt::format("the log ends early: no program runs in it{}", ending));
  }
  if (steps() == 0) {
    const std::string device = options_.device ? fmt::format(" on device {}", *options_.device) : "";
    const std::string module =
        options_.wanted_modules.empty() ? "" : fmt::format(" of a module that matches '{}'", options_.wanted_modules);
    return refuse(
        fmt::format("the log has no step{}{}; the modules that ran are {}{}", module, device, ModulesSeen(), ending));
  }
  for (size_t i = 0; i < fitted_.size(); ++i) {
    if (!fitted_[i] && !options_.assignments_may_not_fit) {
      return refuse(
          fmt::format("the assignment {} belongs to another module: its {} allocations fit no address table of the "
                      "modules {}; the modules "
                      "that ran are {}{}",
                      options_.assignments[i].name, options_.assignments[i].allocations.size(),
                      options_.wanted_modules.empty() ? "in this log" : "that match '" + options_.wanted_modules + "'",
                      ModulesSeen(), ending));
    }
  }
  if (!ending.empty() && !options_.partial && options_.wanted_modules.empty()) {
    return refuse(
        fmt::format("the log ends early{}. --partial takes the {} that it has", ending, Plural(steps(), "step")));
  }
  return {};
}

TraceEnd XlaLogImporter::Impl::End() {
  counts_.unknown_frees = backings_->unknown_frees();
  counts_.missing_frees = backings_->missing_frees();
  counts_.found = backings_->found();
  const bool proven = reuse_lines_ && prologue_.vmm() && counts_.torn == 0 && counts_.found == 0 &&
                      counts_.hidden.without_address + counts_.hidden.assumed_unchanged == 0;
  TraceEnd end;
  end.identity = proven ? TraceIdentity::kBacking : TraceIdentity::kAddress;
  end.starts_mid_life = prologue_.vmm() && !clients_ && counts_.found > 0;
  end.lost_events = counts_.Lost();
  end.counts_json = counts_.Json();
  return end;
}

std::vector<std::string> XlaLogImporter::Impl::Notes() const {
  std::vector<std::string> notes;
  const bool assigned = std::all_of(programs_.begin(), programs_.end(), [](const Program& p) { return p.assigned(); });
  if (options_.assignments.empty() && !assigned) {
    notes.emplace_back(
        "no assignment was given: kinds of slots are unknown, and every allocation with an address is a slot");
  }
  for (size_t i = 0; i < fitted_.size(); ++i) {
    if (!fitted_[i]) {
      notes.push_back(fmt::format("the assignment {} fits no module that ran", options_.assignments[i].name));
    }
  }
  if (prologue_.vmm() && options_.granularity == 0 && !prologue_.granularity_said()) {
    notes.push_back(fmt::format(
        "the log does not say the granularity; {} bytes fit its addresses (--granularity sets another)", granularity_));
  }
  for (std::string& note : counts_.Notes()) {
    notes.push_back(std::move(note));
  }
  return notes;
}

Result<ImportReport> XlaLogImporter::Impl::Finish() {
  if (!started_) {
    if (lines_ == 0 || !prologue_.any_log_line()) {
      REMAPLAB_TRY(WhyNoTrace());
    }
    REMAPLAB_TRY(Start());
  }
  for (auto& [id, thread] : threads_) {
    Close(thread);
  }
  REMAPLAB_TRY(WhyNoTrace());
  const TraceEnd end = End();
  REMAPLAB_TRY(writer_->Finish(end));
  ImportReport report;
  report.steps = writer_->steps();
  report.granularity = granularity_;
  report.identity = end.identity;
  report.lost_events = end.lost_events;
  report.notes = Notes();
  for (const Program& program : programs_) {
    report.programs.push_back(
        {program.id(), program.module(), program.device(), program.slots(), program.steps(), program.assigned()});
  }
  return report;
}

XlaLogImporter::XlaLogImporter(XlaLogOptions options, OpenWriter open)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(open))) {}
XlaLogImporter::XlaLogImporter(XlaLogImporter&&) noexcept = default;
XlaLogImporter::~XlaLogImporter() = default;

Status XlaLogImporter::Line(std::string_view line) { return impl_->Line(line); }
uint64_t XlaLogImporter::steps() const { return impl_->steps(); }
Result<ImportReport> XlaLogImporter::Finish() { return impl_->Finish(); }

}  // namespace remaplab::xla
