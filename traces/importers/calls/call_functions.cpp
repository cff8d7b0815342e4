#include "traces/importers/calls/call_functions.h"

#include <algorithm>
#include <array>
#include <utility>

namespace remaplab::calls {
namespace {

using Entry = std::pair<std::string_view, Function>;

// By name without its prefix. hipMemCreate's handle and hipMemAddressReserve's address come back through pointers,
// which no source follows.
constexpr std::array kFunctions = {
    Entry{"MemAddressReserve", {.role = Role::kCall, .kind = CallKind::kReserve, .size = 1}},
    Entry{"MemAddressFree", {.role = Role::kCall, .kind = CallKind::kAddressFree, .address = 0, .size = 1}},
    Entry{"MemCreate", {.role = Role::kCall, .kind = CallKind::kCreate, .size = 1}},
    Entry{"MemRelease", {.role = Role::kCall, .kind = CallKind::kRelease, .object = 0}},
    Entry{"MemMap", {.role = Role::kCall, .kind = CallKind::kMap, .address = 0, .size = 1, .object = 3}},
    Entry{"MemUnmap", {.role = Role::kCall, .kind = CallKind::kUnmap, .address = 0, .size = 1}},
    Entry{"MemSetAccess", {.role = Role::kCall, .kind = CallKind::kSetAccess, .address = 0, .size = 1, .devices = 3}},
    Entry{"EventSynchronize", {.role = Role::kCall, .kind = CallKind::kWait, .object = 0}},
    Entry{"EventRecord", {.role = Role::kCall, .kind = CallKind::kRecord, .object = 0}},
    Entry{"EventRecordWithFlags", {.role = Role::kCall, .kind = CallKind::kRecord, .object = 0}},
    Entry{"MemcpyDtoD", {.role = Role::kCall, .kind = CallKind::kCopy, .address = 0, .size = 2}},
    Entry{"MemcpyDtoDAsync", {.role = Role::kCall, .kind = CallKind::kCopy, .address = 0, .size = 2}},
    Entry{"Memcpy", {.role = Role::kDeviceCopy, .kind = CallKind::kCopy, .address = 0, .size = 2, .direction = 3}},
    Entry{"MemcpyAsync", {.role = Role::kDeviceCopy, .kind = CallKind::kCopy, .address = 0, .size = 2, .direction = 3}},
    Entry{"MemcpyWithStream",
          {.role = Role::kDeviceCopy, .kind = CallKind::kCopy, .address = 0, .size = 2, .direction = 3}},
    Entry{"GraphInstantiate", {.role = Role::kCall, .kind = CallKind::kCapture}},
    Entry{"GraphInstantiateWithFlags", {.role = Role::kCall, .kind = CallKind::kCapture}},
    Entry{"GraphInstantiateWithParams", {.role = Role::kCall, .kind = CallKind::kCapture}},
    Entry{"GraphExecUpdate", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"GraphExecNodeSetParams", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"GraphExecKernelNodeSetParams", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"GraphExecMemcpyNodeSetParams", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"GraphExecMemcpyNodeSetParams1D", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"GraphExecMemsetNodeSetParams", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"GraphExecChildGraphNodeSetParams", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"DrvGraphExecMemcpyNodeSetParams", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"DrvGraphExecMemsetNodeSetParams", {.role = Role::kCall, .kind = CallKind::kUpdate, .object = 0}},
    Entry{"GraphLaunch", {.role = Role::kCall, .kind = CallKind::kLaunch, .object = 0}},
    Entry{"SetDevice", {.role = Role::kSetDevice}},
    Entry{"CtxSetCurrent", {.role = Role::kForgetDevice}},
    Entry{"CtxPushCurrent", {.role = Role::kForgetDevice}},
    Entry{"CtxPopCurrent", {.role = Role::kForgetDevice}},
};

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsSuffix(std::string_view word) {
  return word == "spt" || word == "ptsz" || word == "ptds" || (word.starts_with('v') && IsDigits(word.substr(1)));
}

std::string_view WithoutSuffixes(std::string_view name) {
  for (size_t at = name.rfind('_'); at != std::string_view::npos && IsSuffix(name.substr(at + 1));
       at = name.rfind('_')) {
    name = name.substr(0, at);
  }
  return name;
}

bool IsUpper(std::string_view text) { return !text.empty() && text[0] >= 'A' && text[0] <= 'Z'; }

// What follows the API's prefix; empty for other names.
std::string_view WithoutPrefix(std::string_view name) {
  for (const std::string_view prefix : {"hip", "cuda", "cu"}) {
    if (name.starts_with(prefix) && IsUpper(name.substr(prefix.size()))) {
      return name.substr(prefix.size());
    }
  }
  return {};
}

}  // namespace

bool IsApiFunction(std::string_view name) { return !WithoutPrefix(name).empty(); }

Function FindFunction(std::string_view name) {
  if (name.starts_with("hsa_")) {
    return {.role = Role::kNested};
  }
  const std::string_view base = WithoutSuffixes(WithoutPrefix(name));
  const auto* entry =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Entry& e) { return e.first == base; });
  if (entry == kFunctions.end()) {
    return {};
  }
  Function function = entry->second;
  if (function.role == Role::kDeviceCopy && !name.starts_with("hip") && !name.starts_with("cuda")) {
    function.direction = kNoArgument;  // cuMemcpyAsync finds out by itself
  }
  return function;
}

}  // namespace remaplab::calls
