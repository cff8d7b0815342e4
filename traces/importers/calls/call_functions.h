// Which driver and runtime functions are calls of which kind, and which of their arguments say what (hip-vmm.md 1.1 has
// the signatures; the CUDA driver and runtime functions take the same ones).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/vocabulary.h"

namespace remaplab::calls {

enum class Role : uint8_t {
  kOther,         // none of the call kinds
  kCall,          // always a call of `kind`
  kDeviceCopy,    // a call of `kind` when it copies from device to device
  kSetDevice,     // chooses the thread's device
  kForgetDevice,  // chooses it in a way that says no ordinal
  kNested,        // the work of another call that is in the recording as well: not a call of its own
};

inline constexpr int kNoArgument = -1;

struct Function {
  Role role = Role::kOther;
  CallKind kind = CallKind::kLaunch;
  // Positions among the arguments, from 0.
  int address = kNoArgument;
  int size = kNoArgument;
  int object = kNoArgument;
  int devices = kNoArgument;
  int direction = kNoArgument;  // kDeviceCopy: the copy's kind
};

// By the name as sources spell it: hip..., cu..., cuda..., with or without version and stream suffixes ("_v2",
// "_ptsz").
Function FindFunction(std::string_view name);

// Begins like a function of HIP, the CUDA driver or the CUDA runtime.
bool IsApiFunction(std::string_view name);

}  // namespace remaplab::calls
