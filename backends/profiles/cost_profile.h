// What calls cost, as data: one JSON file per device in this folder, built into the binary; any other file of the same
// form can be named by its path (profiles/README.md describes the form). `sim` charges by it, `calibrate` writes it.
//
// A call's cost is a sum of terms (definitions.md section 3), of which a profile may leave out any:
//
//   fixed                   each call                       (copy: spelled `enqueue`)
//   per_device              x devices with access
//   per_chunk               x mappings the call acts on     (set_access: those that do not have the access yet)
//   per_chunk_and_device    x mappings x devices
//   per_chunk_squared       x mappings^2: whole-range calls grow faster than their number of mappings
//   per_mib                 x MiB acted on                  (copy: GPU time; set_access: of mappings without the
//   access) unchanged_per_chunk     set_access: x mappings that have the access already per_command capture, update: x
//   commands of the command buffer per_changed_slot        capture, update: x addresses written gpu_fixed copy: GPU
//   time of each contended_factor        the whole CPU cost is multiplied by it while the GPU is busy; absent means 1
//
// Numbers are integers from here on, so that simulated time is the same on every compiler: terms in picoseconds,
// factors in thousandths. A call's terms are added up and multiplied in picoseconds and rounded once, half up, to
// nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/vocabulary.h"

namespace remaplab {

enum class CostTerm : uint8_t {
  kFixed,
  kPerDevice,
  kPerChunk,
  kPerChunkAndDevice,
  kPerChunkSquared,
  kPerMib,
  kUnchangedPerChunk,
  kPerCommand,
  kPerChangedSlot,
  kGpuFixed,
  kContendedFactor,
};
inline constexpr size_t kCostTermCount = 11;
inline constexpr int64_t kFactorOne = 1000;  // a contended_factor of 1

// "fixed", ...; kFixed of kCopy is "enqueue".
std::string_view TermName(CallKind kind, CostTerm term);
// Whether the model has this term for this kind at all; other combinations are refused in profiles and overrides.
bool HasTerm(CallKind kind, CostTerm term);

enum class TermSource : uint8_t { kAbsent, kMeasured, kFitted, kBorrowed };
std::string_view Name(TermSource source);  // "absent", "measured", "fitted", "borrowed"

struct CostTermValue {
  int64_t value = 0;  // picoseconds; kContendedFactor: thousandths
  TermSource source = TermSource::kAbsent;
  std::string from;  // kBorrowed: the profile that it comes from
  std::string note;
};

// One thing that was measured, beside what the profile says about it.
struct CostResidual {
  std::string what;
  CallKind kind = CallKind::kMap;
  double measured_ns = 0;
  double predicted_ns = 0;
};

struct CostProfile {
  std::string name;
  std::string description;  // one line
  std::string quality;      // "measured", "fitted" or "uncalibrated": what lists and reports say about it
  std::string device;
  std::string driver;
  uint32_t devices = 1;  // how many devices had access when it was measured
  std::string origin;    // where the numbers come from
  std::string date;
  std::string note;
  std::array<std::array<CostTermValue, kCostTermCount>, kCallKindCount> terms;
  std::vector<CostResidual> residuals;
  std::vector<std::string> what_if;  // overrides applied after loading, as given

  CostProfile();
  CostTermValue& At(CallKind kind, CostTerm term) {
    return terms[static_cast<size_t>(kind)][static_cast<size_t>(term)];
  }
  const CostTermValue& At(CallKind kind, CostTerm term) const {
    return terms[static_cast<size_t>(kind)][static_cast<size_t>(term)];
  }
};

// The profiles in the binary, by name.
std::span<const CostProfile> BuiltinCostProfiles();

// A built-in profile by name, or the file of that path, with overrides as for ApplyWhatIf. Errors: kUsage with the known
// names when it is neither, kIo, kInput with the offending key.
Result<CostProfile> LoadCostProfile(std::string_view name_or_path, std::span<const std::string> what_if = {});
// `what` names the text in messages.
Result<CostProfile> ParseCostProfile(std::string_view json, std::string_view what);
// The text of a profile file; parsing it again gives the same profile.
std::string CostProfileToJson(const CostProfile& profile);

// Replaces one term: "unmap.fixed=10us", "map.contended_factor=2". Error kUsage with the kind's term names.
Status ApplyWhatIf(CostProfile& profile, std::string_view assignment);

// The profile's terms that are not zero (factors: not one), as "unmap.fixed", with their values.
struct NamedTerm {
  std::string name;
  CallKind kind;
  CostTerm term;
  CostTermValue value;
};
std::vector<NamedTerm> NonZeroTerms(const CostProfile& profile);

// Which of the profile's terms a run rests on that were borrowed or are absent, as "copy.enqueue (borrowed from h200)".
// `used` says which kinds were called; terms per device only count when `devices` is more than the profile's.
std::vector<std::string> UnmeasuredTerms(const CostProfile& profile, std::span<const bool, kCallKindCount> used,
                                         uint32_t devices);

// What a call's cost depends on.
struct CallQuantities {
  uint64_t bytes = 0;
  uint64_t chunks = 0;            // mappings acted on; for kSetAccess those that lack the access
  uint64_t unchanged_chunks = 0;  // kSetAccess: those that have it
  uint64_t chunk_devices = 0;     // sum over the chunks of their devices with access
  uint32_t devices = 0;           // devices with access to any of them
  uint32_t commands = 0;          // kCapture, kUpdate
  uint32_t changed_slots = 0;     // kCapture, kUpdate
  bool contended = false;         // the GPU is busy
};

// A profile boiled down to what charging a call needs. Saturates instead of overflowing.
class CostTable {
 public:
  explicit CostTable(const CostProfile& profile);

  int64_t CallNs(CallKind kind, const CallQuantities& quantities) const;  // CPU time
  int64_t CopyGpuNs(uint64_t bytes) const;

 private:
  std::array<std::array<int64_t, kCostTermCount>, kCallKindCount> terms_;
};

}  // namespace remaplab
