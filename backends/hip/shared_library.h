// A GPU driver's library, opened at run time so that the same binary starts on machines that have none.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace remaplab {

class SharedLibrary {
 public:
  // Opens the first of `names` that can be opened. Stays open until the process ends: drivers have threads of their own
  // and do not survive being unloaded. The error is what the loader said about the first name.
  static Result<SharedLibrary> Open(std::span<const std::string> names);

  const std::string& name() const { return name_; }
  // Null when the library has no such symbol.
  void* Symbol(const char* symbol) const;

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  void* handle_;
  std::string name_;
};

}  // namespace remaplab
