// Errors are values: a function that can fail returns Status or Result<T>, and only the command line prints.
//
//   Result<Trace> LoadTrace(const std::string& path);
//   REMAPLAB_ASSIGN(Trace trace, LoadTrace(path));   // returns the error upwards
//   REMAPLAB_TRY(session->Step(input));
//
// An Error is one pointer wide, so Status costs nothing on the success path of a driver call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tl/expected.hpp"

namespace remaplab {

enum class ErrorCode : uint8_t {
  kUsage,         // the caller asked for something that means nothing (bad option, unknown strategy): exit code 2
  kInput,         // a file's content is wrong: the message names file and line or event: exit code 2
  kIo,            // open, read, write, rename failed: exit code 2
  kUnsupported,   // valid, but this backend or driver generation cannot do it: exit code 2
  kDriver,        // a backend call was refused; the session cleans up and goes on (definitions.md section 5)
  kOutOfMemory,   // a backend call found no memory; handled as kDriver
  kWouldCrash,    // this driver generation crashes here: the sim says so instead of doing it
  kUnknown,       // nobody knows what this driver generation does here
  kVerification,  // a tag was wrong: exit code 1
  kPoisoned,      // a cleanup failed; the session refuses further steps: exit code 1
  kInterrupted,   // Ctrl-C or SIGTERM: exit code 2 after closing what is open
  kInternal,      // a bug in remaplab
};

// "usage", "input", ... as stored in the results store.
std::string_view ErrorCodeName(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : data_(std::make_unique<Data>(Data{code, std::move(message)})) {}
  Error(const Error& other) : data_(std::make_unique<Data>(*other.data_)) {}
  Error(Error&&) noexcept = default;
  Error& operator=(const Error& other) { return *this = Error(other); }
  Error& operator=(Error&&) noexcept = default;
  ~Error() = default;

  ErrorCode code() const { return data_->code; }
  const std::string& message() const { return data_->message; }

  // The same error with `prefix` and ": " before its message; for adding file names on the way up.
  Error WithContext(std::string_view prefix) && {
    data_->message.insert(0, ": ").insert(0, prefix);
    return std::move(*this);
  }

 private:
  struct Data {
    ErrorCode code;
    std::string message;
  };
  std::unique_ptr<Data> data_;
};

using Status = tl::expected<void, Error>;
template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}
inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace remaplab

#define REMAPLAB_TRY(expression)                                   \
  do {                                                             \
    auto remaplab_status = (expression);                           \
    if (!remaplab_status) [[unlikely]] {                           \
      return ::remaplab::Fail(std::move(remaplab_status).error()); \
    }                                                              \
  } while (false)

// A declaration cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define REMAPLAB_CONCAT_INNER(a, b) a##b
#define REMAPLAB_CONCAT(a, b) REMAPLAB_CONCAT_INNER(a, b)
#define REMAPLAB_ASSIGN(declaration, expression) \
  REMAPLAB_ASSIGN_IMPL(REMAPLAB_CONCAT(remaplab_result_, __LINE__), declaration, expression)
#define REMAPLAB_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result) [[unlikely]] {                                 \
    return ::remaplab::Fail(std::move(result).error());       \
  }                                                           \
  declaration = std::move(*result)
// NOLINTEND(bugprone-macro-parentheses)
