// Small traces as text, and files that tidy themselves away.
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/result.h"

namespace remaplab {

inline constexpr std::string_view kHeaderLine =
    R"({"remaptrace":1,"source":"test","tool":"t","time_unit":"ns","granularity":4096,"allocator":"vmm","meta":{"a":[1]}})"
    "\n";
inline constexpr std::string_view kProgramLine =
    R"({"event":"program","id":0,"module":"m","device":0,"slots":[{"index":1,"size":4096,"kind":"temp"},)"
    R"({"index":3,"size":8,"kind":"parameter","access":"read","in_command_buffer":true}]})"
    "\n";
inline constexpr std::string_view kAllocLines =
    R"({"event":"alloc","backing":10,"address":"0x7f0000000000","size":4096,"t":100})"
    "\n"
    R"({"event":"alloc","backing":11,"address":null,"size":8,"t":110})"
    "\n";
inline constexpr std::string_view kFirstStepLine =
    R"({"event":"step","program":0,"step":1,"t":200,"bind":[[1,10],[3,11]]})"
    "\n";
inline constexpr std::string_view kEndLine =
    R"({"event":"end","identity":"backing","starts_mid_life":false,"lost_events":0,"counts":{}})"
    "\n";

// Header, one program with slots 1 and 3, backings 10 and 11, and one step; four events in lines 2 to 5.
inline std::string Prelude() {
  return std::string(kHeaderLine).append(kProgramLine).append(kAllocLines).append(kFirstStepLine);
}

inline std::string WithEnd(std::string text) { return text.append(kEndLine); }

// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "remaplab-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string File(std::string_view name) const { return (path_ / name).string(); }
  bool Empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

// The value, or a failed test that says the error.
template <typename T>
T Must(Result<T> result) {
  BOOST_REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().message()));
  return std::move(*result);
}

inline void Must(const Status& status) {
  BOOST_REQUIRE_MESSAGE(status.has_value(), (status ? "" : status.error().message()));
}

inline void WriteBytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace remaplab
