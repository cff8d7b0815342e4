#include "traces/importers/xla/message.h"

#include <array>
#include <span>

namespace remaplab::xla {
namespace {

struct Pattern {
  std::string_view words;
  Message message;
};

// By first letter, so that most lines are done after one look.
constexpr std::array kA = {Pattern{"Allocated virtual address ", Message::kAllocated},
                           Pattern{"Actually freeing virtual address ", Message::kCompleted}};
constexpr std::array kB = {
    Pattern{"Buffer allocations: ", Message::kTable},
    Pattern{"Buffer allocations changed address between module ", Message::kChanged},
    Pattern{"Buffer 0 -> ", Message::kTable},
};
constexpr std::array kC = {
    Pattern{"Command buffer allocation policy: collected ", Message::kBuilt},
};
constexpr std::array kD = {Pattern{"DeviceAddressVmmAllocator: registering device ", Message::kClient}};
constexpr std::array kE = {Pattern{"End GpuExecutable::ExecuteOnStream module: ", Message::kExecuteEnd}};
constexpr std::array kF = {Pattern{"Finish calling RunAsync for ", Message::kRunEnd}};
constexpr std::array kG = {Pattern{"GpuExecutable::ExecuteAsyncOnStreamImpl(", Message::kExecuteTime}};
constexpr std::array kI = {Pattern{"Initialized command buffer on device #", Message::kCaptured}};
constexpr std::array kM = {Pattern{"Mapping allocation ", Message::kMapping}};
constexpr std::array kP = {Pattern{"Prepared GPU executable module: ", Message::kPrepared}};
constexpr std::array kQ = {Pattern{"Queueing deferred deallocation for virtual address ", Message::kFreed}};
constexpr std::array kR = {Pattern{"Reusing pending deallocation: address=", Message::kReused},
                           Pattern{"Remap timing: slices=", Message::kRemapTiming},
                           Pattern{"Recorded command buffer in ", Message::kCaptured}};
constexpr std::array kS = {Pattern{"Start GpuExecutable::ExecuteOnStream module: ", Message::kExecuteStart},
                           Pattern{"Start calling RunAsync for ", Message::kRunStart}};
constexpr std::array kU = {
    Pattern{"Updated command buffer in ", Message::kUpdated},
    Pattern{"Using copy-protection:", Message::kCopyProtection},
    Pattern{"Using BFC allocator.", Message::kAllocator},
    Pattern{"Using VMM ", Message::kAllocator},
    Pattern{"Using platform allocator.", Message::kAllocator},
    Pattern{"Using address ", Message::kAllocator},
};
constexpr std::array kV = {
    Pattern{"VA remapping: module ", Message::kRemapModule},
    Pattern{"VA remapping(skip): module ", Message::kRemapModule},
    Pattern{"VA remapping: Reserved single VA range for module ", Message::kReserved},
    Pattern{"VA remapping: reserved range for module ", Message::kReservedRange},
    Pattern{"VA remapping: Mapped allocation ", Message::kMappedAlias},
    Pattern{"VA remapping: copied ", Message::kCopied},
    Pattern{"VA remapping timing: ", Message::kSyncTiming},
    Pattern{"VA remapping: collected ", Message::kBuilt},
};
constexpr std::array kSmallC = {Pattern{"completed step: ", Message::kStep}};

std::span<const Pattern> PatternsFor(char first) {
  switch (first) {
    case 'A':
      return kA;
    case 'B':
      return kB;
    case 'C':
      return kC;
    case 'D':
      return kD;
    case 'E':
      return kE;
    case 'F':
      return kF;
    case 'G':
      return kG;
    case 'I':
      return kI;
    case 'M':
      return kM;
    case 'P':
      return kP;
    case 'Q':
      return kQ;
    case 'R':
      return kR;
    case 'S':
      return kS;
    case 'U':
      return kU;
    case 'V':
      return kV;
    case 'c':
      return kSmallC;
    default:
      return {};
  }
}

}  // namespace

Message Classify(std::string_view message, std::string_view& rest) {
  if (message.empty()) {
    return Message::kOther;
  }
  for (const Pattern& pattern : PatternsFor(message[0])) {
    if (message.starts_with(pattern.words)) {
      rest = message.substr(pattern.words.size());
      if (pattern.words == "Buffer 0 -> ") {
        rest = message;
      } else if (pattern.message == Message::kAllocator) {
        rest = message.substr(6);
      }
      return pattern.message;
    }
  }
  return Message::kOther;
}

}  // namespace remaplab::xla
