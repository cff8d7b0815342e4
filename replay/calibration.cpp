#include "replay/calibration.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

namespace remaplab {
namespace {

constexpr int64_t kBusyNs = 60'000'000;  // longer than what is measured meanwhile

double Percentile(std::vector<int64_t>& sorted, uint32_t percent) {
  return static_cast<double>(sorted[(sorted.size() - 1) * percent / 100]);
}

std::string SizeText(uint64_t bytes) {
  return bytes >= (1u << 20) ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} B", bytes);
}

// A reservation full of mappings, all of one size.
struct LiveRange {
  Address base = kNullAddress;
  uint64_t chunk = 0;
  std::vector<Memory> memory;

  Address At(size_t position) const { return base + position * chunk; }
  uint64_t bytes() const { return memory.size() * chunk; }
};

class Calibration {
 public:
  Calibration(Backend& backend, const CalibrationOptions& options, const std::function<void(std::string_view)>& say)
      : backend_(backend), options_(options), say_(say), unit_(backend.capabilities().recommended_granularity) {}

  Result<Calibrated> Run() {
    REMAPLAB_ASSIGN(event_, backend_.CreateEvent());
    REMAPLAB_TRY(BySize());
    REMAPLAB_TRY(WholeRanges());
    REMAPLAB_TRY(ChangesInLiveRanges(/*busy=*/false));
    REMAPLAB_TRY(ChangesInLiveRanges(/*busy=*/true));
    REMAPLAB_TRY(CopiesAndEvents());
    REMAPLAB_TRY(CommandBuffers());
    REMAPLAB_TRY(backend_.DestroyEvent(event_));
    return Calibrated{Points(), CopyGpuPoints()};
  }

 private:
  // One measured call; `call` returns a Status or a Result.
  template <typename Call>
  auto Time(CallKind kind, const CallQuantities& quantities, std::string what, Call&& call) {
    const int64_t start = backend_.now();
    auto result = call();
    const int64_t ns = backend_.now() - start;
    if (result) {
      Series& series = series_[fmt::format("{}|{}|{}", Name(kind), what, quantities.contended)];
      series.kind = kind;
      series.quantities = quantities;
      series.what = std::move(what);
      series.ns.push_back(ns);
    }
    return result;
  }

  std::vector<CalibrationPoint> Points() {
    std::vector<CalibrationPoint> points;
    for (auto& [key, series] : series_) {
      std::sort(series.ns.begin(), series.ns.end());
      points.push_back({series.kind, series.quantities, series.what, Percentile(series.ns, 50),
                        Percentile(series.ns, 10), Percentile(series.ns, 90), series.ns.size()});
    }
    return points;
  }

  std::vector<CalibrationPoint> CopyGpuPoints() {
    std::vector<CalibrationPoint> points;
    for (auto& [size, ns] : copy_gpu_) {
      std::sort(ns.begin(), ns.end());
      points.push_back({CallKind::kCopy,
                        {.bytes = size},
                        SizeText(size),
                        std::max(1.0, Percentile(ns, 50)),
                        Percentile(ns, 10),
                        Percentile(ns, 90),
                        ns.size()});
    }
    return points;
  }

  Result<LiveRange> MapRange(size_t chunks, uint64_t chunk, bool measure) {
    LiveRange range;
    range.chunk = chunk;
    REMAPLAB_ASSIGN(range.base, backend_.Reserve(chunks * chunk, 0));
    for (size_t i = 0; i < chunks; ++i) {
      REMAPLAB_ASSIGN(range.memory.emplace_back(), backend_.Create(chunk, 0, 0, i + 1));
    }
    REMAPLAB_TRY(Fill(range, measure));
    return range;
  }

  Status Fill(const LiveRange& range, bool measure) {
    const size_t n = range.memory.size();
    const std::string what = fmt::format("{} mappings of {}", n, SizeText(range.chunk));
    const CallQuantities one{.bytes = range.chunk, .chunks = 1, .chunk_devices = 1, .devices = 1};
    for (size_t i = 0; i < n; ++i) {
      const auto map = [&] { return backend_.Map(range.At(i), range.chunk, range.memory[i].handle); };
      REMAPLAB_TRY(measure ? Time(CallKind::kMap, one, what, map) : map());
    }
    const CallQuantities whole{.bytes = range.bytes(), .chunks = n, .chunk_devices = n, .devices = 1};
    const CallQuantities again{.unchanged_chunks = n, .chunk_devices = n, .devices = 1};
    const auto grant = [&] { return backend_.SetAccess(range.base, range.bytes(), 0); };
    if (!measure) {
      return grant();
    }
    REMAPLAB_TRY(Time(CallKind::kSetAccess, whole, what, grant));
    return Time(CallKind::kSetAccess, again, what + ", nothing changed", grant);
  }

  Status UnmapRange(const LiveRange& range, bool measure) {
    const size_t n = range.memory.size();
    const CallQuantities whole{.bytes = range.bytes(), .chunks = n, .chunk_devices = n, .devices = 1};
    const auto unmap = [&] { return backend_.Unmap(range.base, range.bytes()); };
    return measure ? Time(CallKind::kUnmap, whole, fmt::format("{} mappings of {}", n, SizeText(range.chunk)), unmap)
                   : unmap();
  }

  Status Drop(const LiveRange& range) {
    for (const Memory& memory : range.memory) {
      REMAPLAB_TRY(backend_.Release(memory));
    }
    return backend_.AddressFree(range.base, range.bytes());
  }

  Status BySize() {
    for (uint64_t size = unit_; size <= options_.most_bytes; size *= 4) {
      say_(fmt::format("calls on one mapping of {}", SizeText(size)));
      const std::string what = SizeText(size);
      const CallQuantities one{.bytes = size, .chunks = 1, .chunk_devices = 1, .devices = 1};
      const uint32_t repetitions = size > (256u << 20) ? std::max(3u, options_.repetitions / 4) : options_.repetitions;
      for (uint32_t i = 0; i < repetitions; ++i) {
        REMAPLAB_ASSIGN(const Address base,
                        Time(CallKind::kReserve, {.bytes = size}, what, [&] { return backend_.Reserve(size, 0); }));
        REMAPLAB_ASSIGN(const Memory memory,
                        Time(CallKind::kCreate, one, what, [&] { return backend_.Create(size, 0, 0, 1); }));
        REMAPLAB_TRY(Time(CallKind::kMap, one, what, [&] { return backend_.Map(base, size, memory.handle); }));
        REMAPLAB_TRY(Time(CallKind::kSetAccess, one, what, [&] { return backend_.SetAccess(base, size, 0); }));
        REMAPLAB_TRY(Time(CallKind::kUnmap, one, what, [&] { return backend_.Unmap(base, size); }));
        REMAPLAB_TRY(Time(CallKind::kRelease, one, what, [&] { return backend_.Release(memory); }));
        REMAPLAB_TRY(
            Time(CallKind::kAddressFree, {.bytes = size}, what, [&] { return backend_.AddressFree(base, size); }));
      }
    }
    return {};
  }

  Status WholeRanges() {
    for (const size_t chunks : {4u, 16u, 64u, 128u, 234u, 354u, 512u, 676u, 1024u}) {
      for (const uint64_t factor : {1u, 16u}) {
        const uint64_t chunk = unit_ * factor;
        if (chunks > options_.most_chunks || chunks * chunk > 16 * options_.most_bytes) {
          continue;
        }
        say_(fmt::format("whole ranges of {} mappings of {}", chunks, SizeText(chunk)));
        REMAPLAB_ASSIGN(const LiveRange range, MapRange(chunks, chunk, true));
        for (uint32_t i = 0; i < std::max(2u, options_.repetitions / 5); ++i) {
          REMAPLAB_TRY(UnmapRange(range, true));
          REMAPLAB_TRY(Fill(range, true));
        }
        REMAPLAB_TRY(UnmapRange(range, false));
        REMAPLAB_TRY(Drop(range));
      }
    }
    return {};
  }

  // A launch that keeps the GPU busy for a while; nothing is read or written by it.
  Status Occupy() {
    REMAPLAB_TRY(backend_.BeginStep(++step_));
    REMAPLAB_TRY(backend_.Launch({.command_buffer = kNoCommandBuffer, .gpu_ns = kBusyNs, .bindings = {}}));
    return backend_.EndStep(step_, true);
  }

  Status ChangesInLiveRanges(bool busy) {
    for (const size_t chunks : {72u, 234u, 676u}) {
      if (chunks > options_.most_chunks) {
        continue;
      }
      say_(fmt::format("changes in a live range of {} mappings{}", chunks, busy ? ", GPU busy" : ""));
      REMAPLAB_ASSIGN(const LiveRange range, MapRange(chunks, unit_, false));
      for (const size_t changed : {1u, 3u, 7u, 17u, 64u}) {
        for (const size_t run : {size_t{1}, changed}) {
          if (changed * 2 < chunks && (run == 1 || changed > 1)) {
            REMAPLAB_TRY(Change(range, changed, run, busy));
          }
        }
      }
      REMAPLAB_TRY(backend_.Synchronize());
      REMAPLAB_TRY(UnmapRange(range, false));
      REMAPLAB_TRY(Drop(range));
    }
    return {};
  }

  // Remaps `changed` mappings in runs of `run` neighbours, as skip_remap does.
  Status Change(const LiveRange& range, size_t changed, size_t run, bool busy) {
    const size_t n = range.memory.size();
    const size_t runs = changed / run;
    const size_t stride = n / runs;
    const uint32_t repetitions = busy ? std::max(3u, options_.repetitions / 4) : options_.repetitions;
    for (uint32_t i = 0; i < repetitions; ++i) {
      if (busy) {
        REMAPLAB_TRY(Occupy());
      }
      const std::string what = fmt::format("{} in runs of {} of {} live mappings", changed, run, n);
      for (size_t r = 0; r < runs; ++r) {
        const CallQuantities unmapped{
            .bytes = run * range.chunk, .chunks = run, .chunk_devices = run, .devices = 1, .contended = busy};
        REMAPLAB_TRY(Time(CallKind::kUnmap, unmapped, what,
                          [&] { return backend_.Unmap(range.At(r * stride), run * range.chunk); }));
      }
      for (size_t r = 0; r < runs; ++r) {
        for (size_t k = 0; k < run; ++k) {
          const CallQuantities mapped{
              .bytes = range.chunk, .chunks = 1, .chunk_devices = 1, .devices = 1, .contended = busy};
          REMAPLAB_TRY(Time(CallKind::kMap, mapped, what, [&] {
            return backend_.Map(range.At(r * stride + k), range.chunk, range.memory[r * stride + k].handle);
          }));
        }
      }
      const CallQuantities granted{.bytes = changed * range.chunk,
                                   .chunks = changed,
                                   .unchanged_chunks = n - changed,
                                   .chunk_devices = n,
                                   .devices = 1,
                                   .contended = busy};
      REMAPLAB_TRY(
          Time(CallKind::kSetAccess, granted, what, [&] { return backend_.SetAccess(range.base, range.bytes(), 0); }));
      if (busy) {
        REMAPLAB_TRY(backend_.Synchronize());
      }
    }
    return {};
  }

  Status CopiesAndEvents() {
    say_("copies, events, shadows");
    for (const uint64_t size : {uint64_t{4}, uint64_t{4096}, uint64_t{65536}, uint64_t{1} << 20}) {
      const std::string what = SizeText(size);
      const CallQuantities one{.bytes = size, .chunks = 1, .devices = 1};
      for (uint32_t i = 0; i < options_.repetitions; ++i) {
        REMAPLAB_ASSIGN(const Address a, Time(CallKind::kShadowAlloc, {}, "4 B to 1 MiB",
                                              [&] { return backend_.ShadowAlloc(size, 0, 0); }));
        REMAPLAB_ASSIGN(const Address b, backend_.ShadowAlloc(size, 0, 0));
        // A replay's copies queue up behind the step before, so that is how they are timed.
        REMAPLAB_TRY(Occupy());
        for (int copy = 0; copy < kCopies; ++copy) {
          REMAPLAB_TRY(Time(CallKind::kCopy, one, what, [&] { return backend_.Copy(b, a, size); }));
        }
        REMAPLAB_TRY(Time(CallKind::kRecord, {}, "after copies", [&] { return backend_.Record(event_); }));
        REMAPLAB_TRY(backend_.Wait(event_));
        REMAPLAB_TRY(Time(CallKind::kWait, {}, "event of an idle stream", [&] { return backend_.Wait(event_); }));
        REMAPLAB_TRY(CopyGpuTime(a, b, size));
        REMAPLAB_TRY(Time(CallKind::kShadowFree, {}, "4 B to 1 MiB", [&] { return backend_.ShadowFree(a, size); }));
        REMAPLAB_TRY(backend_.ShadowFree(b, size));
      }
    }
    return {};
  }

  // End to end time of two batches of different length; the difference is the GPU's, as enqueueing is ahead of it.
  Status CopyGpuTime(Address a, Address b, uint64_t size) {
    const auto batch = [&](int copies) -> Result<int64_t> {
      REMAPLAB_TRY(backend_.BeginStep(++step_));
      REMAPLAB_TRY(backend_.Launch({.command_buffer = kNoCommandBuffer, .gpu_ns = 3'000'000, .bindings = {}}));
      for (int copy = 0; copy < copies; ++copy) {
        REMAPLAB_TRY(backend_.Copy(b, a, size));
      }
      REMAPLAB_TRY(backend_.EndStep(step_, true));
      REMAPLAB_TRY(backend_.Synchronize());
      ends_.clear();
      REMAPLAB_TRY(backend_.TakeStepEnds(ends_));
      const int64_t end = ends_.empty() ? 0 : ends_.back().end_ns;
      return end;
    };
    const int64_t start_short = backend_.now();
    REMAPLAB_ASSIGN(const int64_t end_short, batch(20));
    const int64_t start_long = backend_.now();
    REMAPLAB_ASSIGN(const int64_t end_long, batch(220));
    copy_gpu_[size].push_back(((end_long - start_long) - (end_short - start_short)) / 200);
    return {};
  }

  Status CommandBuffers() {
    for (const size_t slots : {72u, 234u, 676u, 1024u}) {
      if (slots > options_.most_chunks) {
        continue;
      }
      say_(fmt::format("command buffers of {} slots", slots));
      REMAPLAB_ASSIGN(const LiveRange range, MapRange(slots, unit_, false));
      std::vector<BakedSlot> baked;
      for (uint32_t i = 0; i < slots; ++i) {
        baked.push_back({i, range.At(i), 8, Access::kBoth});
      }
      for (const uint32_t commands : {0u, 200u, 1000u}) {
        const uint32_t repetitions = std::max(2u, options_.repetitions / 5);
        for (uint32_t i = 0; i < repetitions; ++i) {
          const std::string what = fmt::format("{} slots, {} commands", slots, commands);
          REMAPLAB_ASSIGN(
              const CommandBufferId buffer,
              Time(CallKind::kCapture, {.commands = commands, .changed_slots = static_cast<uint32_t>(slots)}, what,
                   [&] { return backend_.Capture(baked, commands); }));
          REMAPLAB_TRY(LaunchOnce(buffer, what));
          for (const size_t changed : {1u, 7u, 17u, 64u, 674u}) {
            if (changed <= slots) {
              const std::span<const BakedSlot> some = std::span(baked).first(changed);
              REMAPLAB_TRY(Time(
                  CallKind::kUpdate, {.commands = commands, .changed_slots = static_cast<uint32_t>(changed)},
                  fmt::format("{} of {}", changed, what), [&] { return backend_.Update(buffer, some, commands); }));
            }
          }
          REMAPLAB_TRY(LaunchOnce(buffer, what));
          REMAPLAB_TRY(backend_.DestroyCommandBuffer(buffer));
        }
      }
      REMAPLAB_TRY(UnmapRange(range, false));
      REMAPLAB_TRY(Drop(range));
    }
    return {};
  }

  Status LaunchOnce(CommandBufferId buffer, const std::string& what) {
    REMAPLAB_TRY(backend_.BeginStep(++step_));
    REMAPLAB_TRY(Time(CallKind::kLaunch, {}, what,
                      [&] { return backend_.Launch({.command_buffer = buffer, .gpu_ns = 0, .bindings = {}}); }));
    REMAPLAB_TRY(backend_.EndStep(step_, true));
    return backend_.Synchronize();
  }

  struct Series {
    CallKind kind = CallKind::kMap;
    CallQuantities quantities;
    std::string what;
    std::vector<int64_t> ns;
  };
  static constexpr int kCopies = 50;

  Backend& backend_;
  const CalibrationOptions& options_;
  const std::function<void(std::string_view)>& say_;
  uint64_t unit_;
  EventId event_ = 0;
  uint64_t step_ = 0;
  std::map<std::string, Series> series_;
  std::map<uint64_t, std::vector<int64_t>> copy_gpu_;
  std::vector<StepEnd> ends_;
};

void SetTerm(CostProfile& profile, CallKind kind, CostTerm term, int64_t value, TermSource source, std::string note) {
  profile.At(kind, term) = {.value = value, .source = source, .from = {}, .note = std::move(note)};
}

std::string Today() {
  return fmt::format("{:%Y-%m-%d}",
                     fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string IdentityOf(const BackendInfo& info, std::string_view key) {
  for (const auto& [name, value] : info.identity) {
    if (name == key) {
      return value;
    }
  }
  return {};
}

// What a term of one point rests on: measured when it is the only one, fitted when several share the points.
Status AddKind(CallKind kind, std::span<const CalibrationPoint> points, CostProfile& profile) {
  REMAPLAB_ASSIGN(const KindFit fit, FitKind(kind, points));
  const TermSource source = fit.terms.size() == 1 ? TermSource::kMeasured : TermSource::kFitted;
  for (const auto& [term, ns] : fit.terms) {
    SetTerm(profile, kind, term, std::llround(ns * 1000), source, {});
  }
  const double contention = FitContention(fit, points);
  if (contention > 1 && HasTerm(kind, CostTerm::kContendedFactor)) {
    SetTerm(profile, kind, CostTerm::kContendedFactor, std::llround(contention * kFactorOne), TermSource::kMeasured,
            "median of the busy situations over what the idle fit says");
  }
  for (const CalibrationPoint& point : points) {
    if (point.kind == kind) {
      const double factor = point.quantities.contended ? contention : 1;
      profile.residuals.push_back(
          {fmt::format("{}{}, {} calls, {:.0f} to {:.0f} ns", point.what,
                       point.quantities.contended ? ", GPU busy" : "", point.calls, point.low_ns, point.high_ns),
           kind, point.median_ns, PredictNs(fit, point.quantities) * factor});
    }
  }
  return {};
}

// A launch grows with its command buffer, which the cost model does not know: the median stands for all of them.
void AddLaunch(std::span<const CalibrationPoint> points, CostProfile& profile) {
  std::vector<double> medians;
  for (const CalibrationPoint& point : points) {
    if (point.kind == CallKind::kLaunch) {
      medians.push_back(point.median_ns);
    }
  }
  std::sort(medians.begin(), medians.end());
  if (!medians.empty()) {
    SetTerm(profile, CallKind::kLaunch, CostTerm::kFixed, std::llround(medians[(medians.size() - 1) / 2] * 1000),
            TermSource::kMeasured,
            fmt::format("median over command buffers of different size, {:.0f} to {:.0f} ns", medians.front(),
                        medians.back()));
  }
}

}  // namespace

Result<Calibrated> MeasureCalls(Backend& backend, const CalibrationOptions& options,
                                const std::function<void(std::string_view)>& say) {
  return Calibration(backend, options, say).Run();
}

Result<CostProfile> ProfileFrom(const Calibrated& calibrated, const BackendInfo& info) {
  CostProfile profile;
  profile.name = fmt::format("{}-calibrated", info.name);
  profile.description = fmt::format("{} backend, one device, measured by remaplab calibrate", info.name);
  profile.quality = "measured";
  profile.device = IdentityOf(info, "device");
  profile.driver = IdentityOf(info, "driver");
  profile.origin = fmt::format(
      "remaplab calibrate --backend {}: medians of timed calls, least squares on relative error", info.name);
  profile.date = Today();
  for (const CallKind kind :
       {CallKind::kReserve, CallKind::kAddressFree, CallKind::kCreate, CallKind::kRelease, CallKind::kMap,
        CallKind::kUnmap, CallKind::kSetAccess, CallKind::kWait, CallKind::kRecord, CallKind::kShadowAlloc,
        CallKind::kShadowFree, CallKind::kCopy, CallKind::kCapture, CallKind::kUpdate}) {
    REMAPLAB_TRY(AddKind(kind, calibrated.calls, profile));
  }
  AddLaunch(calibrated.calls, profile);
  REMAPLAB_ASSIGN(const KindFit copies, FitCopyGpuTime(calibrated.copy_gpu));
  for (const auto& [term, ns] : copies.terms) {
    const CostTerm gpu_term = term == CostTerm::kFixed ? CostTerm::kGpuFixed : term;
    SetTerm(profile, CallKind::kCopy, gpu_term, std::llround(ns * 1000), TermSource::kFitted,
            "difference of two batches behind one launch");
  }
  return profile;
}

}  // namespace remaplab
