#include "backends/hip/shared_library.h"

#include <dlfcn.h>

#include <utility>

namespace remaplab {

Result<SharedLibrary> SharedLibrary::Open(std::span<const std::string> names) {
  std::string first_error;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return SharedLibrary(handle, name);
    const char* error = dlerror();
    if (first_error.empty()) first_error = error != nullptr ? error : "cannot be opened";
  }
  return Fail(ErrorCode::kUnsupported, std::move(first_error));
}

void* SharedLibrary::Symbol(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace remaplab
