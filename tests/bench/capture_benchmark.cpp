// How fast `remaplab capture` reads a plain log on one core, beside `grep -c 'Buffer allocations'` on the same core,
// and how much memory it needs. Prints both; asserts nothing.
//
//   remaplab_capture_benchmark [LOG [GIGABYTES]]
//
// The log (default: the bundled recording, 2 GB) is repeated until it is that large: many runs in one file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/parse.h"
#include "traces/byte_source.h"

namespace remaplab {
namespace {

constexpr int kRepetitions = 5;
constexpr double kGigabyte = 1e9;

struct Measured {
  double seconds = 0;  // median
  int64_t resident_kib = 0;
};

Result<std::string> ReadAll(const std::string& path) {
  REMAPLAB_ASSIGN(ByteSource source, ByteSource::Open(path));
  std::string bytes;
  std::vector<char> buffer(size_t{1} << 20);
  while (true) {
    REMAPLAB_ASSIGN(const size_t count, source.Read(buffer.data(), buffer.size()));
    if (count == 0) {
      return bytes;
    }
    bytes.append(buffer.data(), count);
  }
}

// Runs `words` on core 0, its output into a file (grep stops at the first match when it sees /dev/null); false when it
// fails.
bool RunOnce(const std::vector<std::string>& words, const std::string& output, double& seconds, int64_t& resident_kib) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(0, &core);
    sched_setaffinity(0, sizeof(core), &core);
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage = {};
  if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
    return false;
  }
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  resident_kib = usage.ru_maxrss;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool Measure(const std::vector<std::string>& words, const std::string& output, Measured& measured) {
  std::vector<double> seconds(kRepetitions);
  for (double& one : seconds) {
    int64_t resident = 0;
    if (!RunOnce(words, output, one, resident)) {
      fmt::print(stderr, "{} failed\n", words[0]);
      return false;
    }
    measured.resident_kib = std::max(measured.resident_kib, resident);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
  measured.seconds = seconds[kRepetitions / 2];
  return true;
}

int Main(const std::string& log, uint64_t gigabytes) {
  const auto text = ReadAll(log);
  if (!text || text->empty()) {
    fmt::print(stderr, "{}: {}\n", log, text ? "is empty" : text.error().message());
    return 2;
  }
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("remaplab-bench-{}", getpid());
  std::filesystem::create_directory(folder);
  const std::string big = (folder / "big.log").string();
  uint64_t size = 0;
  std::ofstream out(big, std::ios::binary);
  for (; static_cast<double>(size) < static_cast<double>(gigabytes) * kGigabyte && out; size += text->size()) {
    out << *text;
  }
  out.close();
  const std::string printed = (folder / "printed").string();
  Measured grep;
  Measured capture;
  const bool done = out && Measure({"grep", "-c", "Buffer allocations", big}, printed, grep) &&
                    Measure({REMAPLAB_BINARY, "capture", "--log", big, "-o", (folder / "t.remaptrace.zst").string()},
                            printed, capture);
  std::filesystem::remove_all(folder);
  if (!done) {
    return 1;
  }
  const double bytes = static_cast<double>(size);
  fmt::print("{:.2f} GB of {}, one core, median of {}\n", bytes / kGigabyte, log, kRepetitions);
  fmt::print("grep -c      {:7.3f} s  {:8.1f} MB/s\n", grep.seconds, bytes / grep.seconds / 1e6);
  fmt::print("capture      {:7.3f} s  {:8.1f} MB/s  {:.1f} MiB resident\n", capture.seconds,
             bytes / capture.seconds / 1e6, static_cast<double>(capture.resident_kib) / 1024);
  fmt::print("capture is 1/{:.1f} as fast as grep\n", capture.seconds / grep.seconds);
  return 0;
}

}  // namespace
}  // namespace remaplab

int main(int argc, char** argv) {
  const std::string log = argc > 1 ? argv[1] : REMAPLAB_SOURCE_DIR "/traces/examples/tiny_vmm.log.gz";
  const auto gigabytes = remaplab::ParseUInt(argc > 2 ? argv[2] : "2", "GIGABYTES");
  if (!gigabytes) {
    fmt::print(stderr, "{}\n", gigabytes.error().message());
    return 2;
  }
  return remaplab::Main(log, *gigabytes);
}
