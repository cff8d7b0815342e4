#include "base/result.h"

namespace remaplab {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kInput:
      return "input";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kDriver:
      return "driver";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kWouldCrash:
      return "would_crash";
    case ErrorCode::kUnknown:
      return "unknown";
    case ErrorCode::kVerification:
      return "verification";
    case ErrorCode::kPoisoned:
      return "poisoned";
    case ErrorCode::kInterrupted:
      return "interrupted";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace remaplab
