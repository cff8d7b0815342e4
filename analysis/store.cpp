#include "analysis/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <variant>

#include "analysis/identity.h"
#include "analysis/schema.h"
#include "analysis/sqlite.h"
#include "base/json_writer.h"
#include "base/version.h"

namespace remaplab {
namespace {

constexpr size_t kRowsPerTransaction = 16384;
// quick_check reads the whole file; beyond this size damage is reported when a query meets it.
constexpr uintmax_t kQuickCheckBytes = uintmax_t{64} << 20;

constexpr int kStepShift = 4;
constexpr int64_t kMaxRun = std::numeric_limits<int64_t>::max() / RunKey(1) - 1;
constexpr uint64_t kMaxStep = (RunKey(1) >> kStepShift) - 1;

constexpr std::string_view kStepColumns =
    "id, count, start, \"end\", calls, changed_slots, remap, wait, retained_bytes, stale_slots, failed";
constexpr std::string_view kStepCallColumns = "id, n, duration";
constexpr std::string_view kCallColumns =
    "id, step, phase, kind, slot, address, size, chunks, device, start, \"end\", failed, predicted";

template <typename T>
int64_t Int(T value) {
  return static_cast<int64_t>(value);
}

template <typename T>
std::optional<int64_t> MaybeInt(const std::optional<T>& value) {
  return value ? std::optional<int64_t>(Int(*value)) : std::nullopt;
}

int64_t StepKey(RunId run, uint64_t step) { return RunKey(run) | Int(step) << kStepShift; }

std::string ToJson(KeyValues values) {
  std::sort(values.begin(), values.end());
  JsonWriter json;
  json.BeginObject();
  for (const auto& [key, value] : values) {
    json.Key(key).String(value);
  }
  return json.EndObject().TakeText();
}

using Value = std::variant<std::nullopt_t, int64_t, std::string_view>;
using Field = std::pair<std::string_view, Value>;

void BindAll(Statement& statement, std::span<const Field> fields) {
  int parameter = 0;
  for (const auto& [name, value] : fields) {
    ++parameter;
    if (const auto* number = std::get_if<int64_t>(&value)) {
      statement.Bind(parameter, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      statement.Bind(parameter, *text);
    } else {
      statement.BindNull(parameter);
    }
  }
}

Value Maybe(std::optional<int64_t> value) { return value ? Value(*value) : Value(std::nullopt); }

std::string Join(std::span<const Field> fields, std::string_view separator, std::string_view suffix) {
  std::string text;
  for (const auto& [name, value] : fields) {
    fmt::format_to(std::back_inserter(text), "{}{}{}", text.empty() ? "" : separator, name, suffix);
  }
  return text;
}

Result<int64_t> Insert(Database& database, std::string_view table, std::span<const Field> fields) {
  std::string marks = "?";
  for (size_t i = 1; i < fields.size(); ++i) {
    marks += ",?";
  }
  REMAPLAB_ASSIGN(Statement insert, database.Prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table,
                                                                 Join(fields, ", ", ""), marks)));
  BindAll(insert, fields);
  REMAPLAB_TRY(insert.Run());
  return database.last_insert_id();
}

// The id of the row whose first `key_fields` fields are equal; inserted when there is none.
Result<int64_t> Ensure(Database& database, std::string_view table, std::span<const Field> fields, size_t key_fields,
                       bool* inserted = nullptr) {
  const std::span<const Field> keys = fields.first(key_fields);
  REMAPLAB_ASSIGN(Statement find,
                  database.Prepare(fmt::format("SELECT id FROM {} WHERE {}", table, Join(keys, " AND ", " = ?"))));
  BindAll(find, keys);
  REMAPLAB_ASSIGN(const bool found, find.Step());
  if (inserted != nullptr) {
    *inserted = !found;
  }
  if (found) {
    return find.Int(0);
  }
  return Insert(database, table, fields);
}

Result<int64_t> EnsureTrace(Database& database, const TraceInfo& trace) {
  const Field fields[] = {{"xxh3", trace.xxh3},
                          {"name", trace.name},
                          {"source", trace.source},
                          {"identity", trace.identity},
                          {"steps", Int(trace.steps)},
                          {"events", Int(trace.events)},
                          {"lost_events", Int(trace.lost_events)},
                          {"starts_mid_life", Int(trace.starts_mid_life)},
                          {"complete", Int(trace.complete)},
                          {"extdata", trace.meta_json}};
  return Ensure(database, "trace", fields, 1);
}

Result<int64_t> EnsureProgram(Database& database, int64_t trace, const ProgramInfo& program) {
  const Field fields[] = {{"trace", trace},
                          {"number", Int(program.id)},
                          {"module", program.module},
                          {"device", Int(program.device)},
                          {"commands", Int(program.commands)}};
  bool inserted = false;
  REMAPLAB_ASSIGN(const int64_t id, Ensure(database, "program", fields, 4, &inserted));
  for (size_t i = 0; inserted && i < program.slots.size(); ++i) {
    const SlotInfo& slot = program.slots[i];
    const Field columns[] = {{"program", id},
                             {"position", Int(i)},
                             {"slot_index", Int(slot.index)},
                             {"size", Int(slot.size)},
                             {"space", Int(slot.space)},
                             {"kind", Name(slot.kind)},
                             {"access", Name(slot.access)}};
    REMAPLAB_TRY(Insert(database, "slot", columns));
  }
  return id;
}

Result<int64_t> EnsureBuild(Database& database) {
  const BuildInfo& build = build_info();
  const Field fields[] = {{"version", build.version},          {"git_revision", build.git_revision},
                          {"git_dirty", Int(build.git_dirty)}, {"compiler", build.compiler},
                          {"build_type", build.build_type},    {"sanitizers", build.sanitizers}};
  return Ensure(database, "build", fields, std::size(fields));
}

Result<std::optional<int64_t>> EnsureCostProfile(Database& database, const CostProfileInfo& profile) {
  if (profile.name.empty()) {
    return std::optional<int64_t>();
  }
  const Field fields[] = {{"name", profile.name},     {"quality", profile.quality}, {"version", profile.version},
                          {"origin", profile.origin}, {"date", profile.date},       {"device", profile.device},
                          {"params", profile.json}};
  REMAPLAB_ASSIGN(const int64_t id, Ensure(database, "cost_profile", fields, std::size(fields)));
  return std::optional<int64_t>(id);
}

Result<std::optional<int64_t>> EnsureCampaign(Database& database, const std::optional<CampaignInfo>& campaign) {
  if (!campaign) {
    return std::optional<int64_t>();
  }
  const Field fields[] = {{"uuid", campaign->uuid}, {"seed", Int(campaign->seed)}, {"plan", campaign->plan_json}};
  REMAPLAB_ASSIGN(const int64_t id, Ensure(database, "campaign", fields, 1));
  return std::optional<int64_t>(id);
}

Result<RunId> InsertRun(Database& database, const RunInfo& info) {
  REMAPLAB_ASSIGN(const int64_t trace, EnsureTrace(database, info.trace));
  REMAPLAB_ASSIGN(const int64_t program, EnsureProgram(database, trace, info.program));
  const Field strategy_field[] = {{"name", info.strategy}};
  REMAPLAB_ASSIGN(const int64_t strategy, Ensure(database, "strategy", strategy_field, 1));
  REMAPLAB_ASSIGN(const int64_t build, EnsureBuild(database));
  const std::string host_json = ToJson(info.host);
  const Field host_field[] = {{"extdata", host_json}};
  REMAPLAB_ASSIGN(const int64_t host, Ensure(database, "host", host_field, 1));
  REMAPLAB_ASSIGN(const auto cost_profile, EnsureCostProfile(database, info.cost_profile));
  REMAPLAB_ASSIGN(const auto campaign, EnsureCampaign(database, info.campaign));
  const std::string uuid = NewUuid();
  const std::string device_json = ToJson(info.device);
  const Field fields[] = {{"uuid", uuid},
                          {"status", kRunStatusNames[0]},
                          {"start", WallClockNs()},
                          {"program", program},
                          {"strategy", strategy},
                          {"backend", info.backend},
                          {"measured", Int(info.measured)},
                          {"driver_profile", info.driver_profile},
                          {"cost_profile", Maybe(cost_profile)},
                          {"build", build},
                          {"host", host},
                          {"campaign", Maybe(campaign)},
                          {"cell", info.cell},
                          {"position", Maybe(info.position)},
                          {"tag", info.tag},
                          {"devices", Int(info.devices)},
                          {"granularity", Int(info.granularity)},
                          {"gpu_step_override", Maybe(info.gpu_step_ns)},
                          {"host_step", info.host_step_ns},
                          {"run_ahead", Int(info.run_ahead)},
                          {"seed", Int(info.seed)},
                          {"scale", info.scale},
                          {"slot_filter", info.slot_filter},
                          {"warmup_steps", Int(info.warmup_steps)},
                          {"command_line", info.command_line},
                          {"device_facts", device_json}};
  return Insert(database, "run", fields);
}

Status InsertTotals(Database& database, RunId run, RunPhase phase, const KindTotals& totals) {
  for (size_t kind = 0; kind < totals.size(); ++kind) {
    if (totals[kind].n > 0) {
      const Field fields[] = {{"run", run},
                              {"phase", Int(phase)},
                              {"kind", Int(kind)},
                              {"n", Int(totals[kind].n)},
                              {"duration", totals[kind].ns}};
      REMAPLAB_TRY(Insert(database, "run_call", fields));
    }
  }
  return {};
}

Status InsertSamples(Database& database, RunId run, const RunSummary& summary) {
  for (const SampleRow& sample : summary.samples) {
    const Distribution& d = sample.distribution;
    const Field fields[] = {{"run", run},   {"metric", sample.metric}, {"n", Int(d.n)}, {"min", d.min},
                            {"q1", d.q1},   {"median", d.median},      {"q3", d.q3},    {"p99", d.p99},
                            {"max", d.max}, {"mean", d.mean},          {"mad", d.mad}};
    REMAPLAB_TRY(Insert(database, "sample", fields));
  }
  for (const SizeClassRow& row : summary.size_classes) {
    const Field fields[] = {{"run", run},
                            {"kind", Int(row.kind)},
                            {"size_class", Int(row.size_class)},
                            {"n", Int(row.n)},
                            {"duration", row.ns}};
    REMAPLAB_TRY(Insert(database, "call_stat", fields));
  }
  return {};
}

Status UpdateRun(Database& database, RunId run, const RunSummary& summary) {
  const Field fields[] = {{"status", kRunStatusNames[static_cast<size_t>(summary.status)]},
                          {"\"end\"", WallClockNs()},
                          {"resolved", summary.resolved},
                          {"steps", Int(summary.steps)},
                          {"failed_steps", Int(summary.failed_steps)},
                          {"slots", Int(summary.slots)},
                          {"bytes_mapped", Int(summary.bytes_mapped)},
                          {"changed_slot_steps", Int(summary.changed_slot_steps)},
                          {"peak_reserved", Int(summary.peak_reserved)},
                          {"shadow_bytes", Int(summary.shadow_bytes)},
                          {"retained_bytes", Int(summary.retained_bytes)},
                          {"command_buffers", Int(summary.command_buffers)},
                          {"step_first", summary.step_ns.first},
                          {"step_total", summary.step_ns.total},
                          {"step_median", summary.step_ns.median},
                          {"step_p99", summary.step_ns.p99},
                          {"remap_first", summary.remap_ns.first},
                          {"remap_total", summary.remap_ns.total},
                          {"remap_median", summary.remap_ns.median},
                          {"remap_p99", summary.remap_ns.p99},
                          {"wait_first", summary.wait_ns.first},
                          {"wait_total", summary.wait_ns.total},
                          {"wait_median", summary.wait_ns.median},
                          {"wait_p99", summary.wait_ns.p99},
                          {"gpu_step", summary.gpu_step_ns},
                          {"stale_mappings", Int(summary.stale_mappings)},
                          {"stale_steps", Int(summary.stale_steps)},
                          {"skips_on_assumption", Int(summary.skips_on_assumption)},
                          {"verification_failures", Int(summary.verification_failures)},
                          {"oracle", Maybe(summary.oracle_ns)},
                          {"unsure_terms", summary.unsure_terms}};
  REMAPLAB_ASSIGN(Statement update,
                  database.Prepare(fmt::format("UPDATE run SET {} WHERE id = {} AND status = 'running'",
                                               Join(fields, ", ", " = ?"), run)));
  BindAll(update, fields);
  REMAPLAB_TRY(update.Run());
  if (database.changes() != 1) {
    return Fail(ErrorCode::kInternal, fmt::format("{}: run {} is not there or has ended before", database.path(), run));
  }
  return {};
}

Status CheckKeys(RunId run, uint64_t step) {
  if (run < 1 || run > kMaxRun || step > kMaxStep) {
    return Fail(ErrorCode::kInternal, fmt::format("run {} step {} is beyond what a store can number", run, step));
  }
  return {};
}

}  // namespace

ChurnMap::ChurnMap(uint64_t steps)
    : steps_per_column_(std::max<uint64_t>(1, (steps + kMaxColumns - 1) / kMaxColumns)) {}

void ChurnMap::Add(uint64_t step, uint32_t slot) {
  const size_t column = (step - 1) / steps_per_column_;
  if (column >= changes_.size()) {
    changes_.resize(column + 1);
  }
  std::vector<uint32_t>& slots = changes_[column];
  if (slot >= slots.size()) {
    slots.resize(slot + 1);
  }
  ++slots[slot];
}

std::vector<ChurnCell> ChurnMap::Cells() const {
  std::vector<ChurnCell> cells;
  for (uint32_t column = 0; column < changes_.size(); ++column) {
    for (uint32_t slot = 0; slot < changes_[column].size(); ++slot) {
      if (changes_[column][slot] > 0) {
        cells.push_back({slot, column, changes_[column][slot]});
      }
    }
  }
  return cells;
}

struct Store::State {
  template <typename Row>
  struct Buffered {
    RunId run;
    Row row;
  };
  struct BufferedCall {
    int64_t key;
    CallRow row;
  };

  size_t buffered() const { return steps.size() + step_calls.size() + calls.size(); }
  Status WriteBuffers();
  Status WriteSteps();
  Status WriteStepCalls();
  Status WriteCalls();
  // Writes when enough has gathered.
  Status MaybeWrite() { return buffered() < kRowsPerTransaction ? Status() : FlushInTransaction(); }
  Status FlushInTransaction();

  std::string path;
  std::unique_ptr<Database> database;  // null: closed
  std::optional<BulkInsert> insert_step;
  std::optional<BulkInsert> insert_step_call;
  std::optional<BulkInsert> insert_call;
  std::vector<Buffered<StepRow>> steps;
  std::vector<Buffered<StepCallRow>> step_calls;
  std::vector<BufferedCall> calls;
  std::vector<std::pair<RunId, int64_t>> calls_so_far;
};

Status Store::State::WriteSteps() {
  for (const auto& [run, row] : steps) {
    const int64_t values[] = {StepKey(run, row.step),  Int(row.count),         row.start,      row.end,
                              Int(row.calls),          Int(row.changed_slots), row.remap_ns,   row.wait_ns,
                              Int(row.retained_bytes), Int(row.stale_slots),   Int(row.failed)};
    REMAPLAB_TRY(insert_step->Add(values));
  }
  return insert_step->Finish();
}

Status Store::State::WriteStepCalls() {
  for (const auto& [run, row] : step_calls) {
    const int64_t values[] = {StepKey(run, row.step) | Int(row.kind), Int(row.n), row.ns};
    REMAPLAB_TRY(insert_step_call->Add(values));
  }
  return insert_step_call->Finish();
}

Status Store::State::WriteCalls() {
  for (const auto& [key, row] : calls) {
    const std::optional<int64_t> values[] = {key,
                                             Int(row.step),
                                             Int(row.phase),
                                             Int(row.kind),
                                             MaybeInt(row.slot),
                                             Int(row.address),
                                             Int(row.size),
                                             Int(row.chunks),
                                             Int(row.device),
                                             row.start,
                                             row.end,
                                             Int(row.failed),
                                             row.predicted_ns};
    REMAPLAB_TRY(insert_call->Add(values));
  }
  return insert_call->Finish();
}

Status Store::State::WriteBuffers() {
  REMAPLAB_TRY(WriteSteps());
  REMAPLAB_TRY(WriteStepCalls());
  REMAPLAB_TRY(WriteCalls());
  steps.clear();
  step_calls.clear();
  calls.clear();
  return {};
}

Status Store::State::FlushInTransaction() {
  if (buffered() == 0) {
    return {};
  }
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(*database));
  REMAPLAB_TRY(WriteBuffers());
  return transaction.Commit();
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() {
  if (state_ != nullptr) {
    (void)Close();
  }
}

Result<Store> Store::OpenForWriting(const std::string& path, std::chrono::milliseconds patience) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored) || std::filesystem::file_size(path, ignored) == 0;
  if (!is_new || std::filesystem::is_directory(path, ignored)) {
    REMAPLAB_TRY(CheckFile(path));
  }
  auto state = std::make_unique<State>();
  state->path = path;
  REMAPLAB_ASSIGN(state->database, Database::Open(path, Database::Mode::kWrite, patience));
  Database& database = *state->database;
  if (database.read_only()) {
    return Fail(ErrorCode::kIo, fmt::format("{}: is read-only", path));
  }
  REMAPLAB_TRY(Migrate(database));
  REMAPLAB_TRY(database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"));
  REMAPLAB_ASSIGN(state->insert_step, BulkInsert::Prepare(database, "step", kStepColumns));
  REMAPLAB_ASSIGN(state->insert_step_call, BulkInsert::Prepare(database, "step_call", kStepCallColumns));
  REMAPLAB_ASSIGN(state->insert_call, BulkInsert::Prepare(database, "call", kCallColumns));
  return Store(std::move(state));
}

Result<Store> Store::OpenForReading(const std::string& path, std::chrono::milliseconds patience) {
  REMAPLAB_TRY(CheckFile(path));
  auto state = std::make_unique<State>();
  state->path = path;
  REMAPLAB_ASSIGN(state->database, Database::Open(path, Database::Mode::kRead, patience));
  REMAPLAB_ASSIGN(const int64_t version, ReadSchemaVersion(*state->database));
  if (version < NewestSchemaVersion()) {
    REMAPLAB_ASSIGN(auto copy, Database::Open(path, Database::Mode::kTemporary, patience));
    REMAPLAB_TRY(CopyDatabase(*state->database, *copy));
    REMAPLAB_TRY(Migrate(*copy));
    state->database = std::move(copy);
  }
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) <= kQuickCheckBytes) {
    REMAPLAB_TRY(QuickCheck(*state->database));
  }
  REMAPLAB_TRY(state->database->Execute("PRAGMA query_only = ON"));
  return Store(std::move(state));
}

Result<RunId> Store::BeginRun(const RunInfo& info) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database()));
  REMAPLAB_ASSIGN(const RunId run, InsertRun(database(), info));
  REMAPLAB_TRY(transaction.Commit());
  return run;
}

Status Store::AppendSteps(RunId run, std::span<const StepRow> steps, std::span<const StepCallRow> calls) {
  if (!steps.empty()) {
    REMAPLAB_TRY(CheckKeys(run, steps.back().step));
  }
  for (const StepRow& row : steps) {
    state_->steps.push_back({run, row});
  }
  for (const StepCallRow& row : calls) {
    state_->step_calls.push_back({run, row});
  }
  return state_->MaybeWrite();
}

Status Store::AppendCalls(RunId run, std::span<const CallRow> calls) {
  REMAPLAB_TRY(CheckKeys(run, 0));
  auto& counters = state_->calls_so_far;
  auto counter = std::find_if(counters.begin(), counters.end(), [&](const auto& entry) { return entry.first == run; });
  if (counter == counters.end()) {
    counter = counters.insert(counters.end(), {run, 0});
  }
  for (const CallRow& row : calls) {
    state_->calls.push_back({RunKey(run) | counter->second++, row});
  }
  return state_->MaybeWrite();
}

Status Store::AppendFaults(RunId run, std::span<const FaultRow> faults) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database()));
  for (const FaultRow& fault : faults) {
    const Field fields[] = {{"run", run},
                            {"step", Int(fault.step)},
                            {"phase", Int(fault.phase)},
                            {"kind", Int(fault.kind)},
                            {"slot", Maybe(MaybeInt(fault.slot))},
                            {"code", fault.code},
                            {"message", fault.message}};
    REMAPLAB_TRY(Insert(database(), "fault", fields));
  }
  return transaction.Commit();
}

Status Store::AppendMismatches(RunId run, std::span<const MismatchRow> mismatches) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database()));
  for (const MismatchRow& row : mismatches) {
    const Field fields[] = {{"run", run},
                            {"step", Int(row.step)},
                            {"slot", Int(row.slot)},
                            {"expected", Int(row.expected)},
                            {"found", Int(row.found)}};
    REMAPLAB_TRY(Insert(database(), "mismatch", fields));
  }
  return transaction.Commit();
}

Status Store::AppendDiagnostics(RunId run, std::span<const DiagnosticRow> diagnostics) {
  constexpr std::array<std::string_view, 3> kSeverityNames = {"note", "warning", "error"};
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database()));
  for (const DiagnosticRow& row : diagnostics) {
    const Field fields[] = {
        {"run", run}, {"severity", kSeverityNames[static_cast<size_t>(row.severity)]}, {"message", row.text}};
    REMAPLAB_TRY(Insert(database(), "diagnostic", fields));
  }
  return transaction.Commit();
}

Status Store::AppendResiduals(RunId run, std::span<const ResidualRow> residuals) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database()));
  for (const ResidualRow& row : residuals) {
    const Field fields[] = {{"run", run},      {"metric", row.metric},          {"size", Int(row.size)},
                            {"n", Int(row.n)}, {"predicted", row.predicted_ns}, {"measured", row.measured_ns}};
    REMAPLAB_TRY(Insert(database(), "residual", fields));
  }
  return transaction.Commit();
}

Status Store::AddChurn(RunId run, const ChurnMap& churn) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database()));
  REMAPLAB_ASSIGN(const int64_t program,
                  database().QueryInt(fmt::format("SELECT program FROM run WHERE id = {}", run)));
  REMAPLAB_ASSIGN(Statement claim,
                  database().Prepare(
                      "UPDATE program SET churn_steps_per_column = ? WHERE id = ? AND churn_steps_per_column IS NULL"));
  REMAPLAB_TRY(claim.Bind(1, Int(churn.steps_per_column())).Bind(2, program).Run());
  if (database().changes() == 0) {
    return {};
  }
  REMAPLAB_ASSIGN(BulkInsert insert,
                  BulkInsert::Prepare(database(), "churn", "program, step_column, position, changes"));
  for (const ChurnCell& cell : churn.Cells()) {
    const int64_t values[] = {program, Int(cell.column), Int(cell.slot), Int(cell.changes)};
    REMAPLAB_TRY(insert.Add(values));
  }
  REMAPLAB_TRY(insert.Finish());
  return transaction.Commit();
}

Status Store::FinishRun(RunId run, const RunSummary& summary) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database()));
  REMAPLAB_TRY(state_->WriteBuffers());
  REMAPLAB_TRY(UpdateRun(database(), run, summary));
  REMAPLAB_TRY(InsertTotals(database(), run, RunPhase::kSteps, summary.calls));
  REMAPLAB_TRY(InsertTotals(database(), run, RunPhase::kCleanup, summary.cleanup));
  REMAPLAB_TRY(InsertTotals(database(), run, RunPhase::kTeardown, summary.teardown));
  REMAPLAB_TRY(InsertTotals(database(), run, RunPhase::kAllocator, summary.allocator));
  REMAPLAB_TRY(InsertSamples(database(), run, summary));
  return transaction.Commit();
}

Result<bool> Store::HasFinishedCell(std::string_view cell) {
  REMAPLAB_ASSIGN(Statement find, database().Prepare("SELECT 1 FROM run WHERE cell = ? AND cell <> '' AND status = "
                                                     "'finished'"));
  return find.Bind(1, cell).Step();
}

Result<std::string> Store::RunUuid(RunId run) {
  return database().QueryText(fmt::format("SELECT uuid FROM run WHERE id = {}", run));
}

Status Store::Flush() { return state_->FlushInTransaction(); }

Status Store::Close() {
  if (state_->database == nullptr) {
    return {};
  }
  const Status flushed = Flush();
  const bool writer = state_->insert_step.has_value();
  state_->insert_step.reset();
  state_->insert_step_call.reset();
  state_->insert_call.reset();
  if (writer) {
    // Fails while another process has the store open; the last one to close leaves the plain file.
    (void)state_->database->Execute("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
  }
  state_->database.reset();
  return flushed;
}

const std::string& Store::path() const { return state_->path; }
Database& Store::database() { return *state_->database; }

}  // namespace remaplab
