#include "replay/cli/capture_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "replay/cli/capture_report.h"
#include "replay/cli/child_process.h"
#include "replay/cli/command.h"
#include "traces/importers/line_feeder.h"
#include "traces/importers/xla/log_variables.h"

namespace remaplab::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 100;
constexpr auto kProgressEvery = std::chrono::seconds(1);
// Descendants may keep the pipe open after the command has ended; what it printed itself is in the pipe by then.
constexpr auto kSilence = std::chrono::milliseconds(500);
constexpr size_t kMostDumps = 8;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::pair<std::string, std::string>> LogVariables() {
  return {{"TF_CPP_MIN_LOG_LEVEL", "0"}, {"TF_CPP_VMODULE", xla::WithLogModules(Variable("TF_CPP_VMODULE"))}};
}

// The directory that the user's XLA_FLAGS ask XLA to dump to; empty without one.
std::string DumpDirectory() {
  constexpr std::string_view kFlag = "--xla_dump_to=";
  const std::string flags = Variable("XLA_FLAGS");
  const size_t flag = flags.rfind(kFlag);
  if (flag == std::string::npos) {
    return "";
  }
  const size_t begin = flag + kFlag.size();
  std::string directory = flags.substr(begin, flags.find_first_of(" \t\n", begin) - begin);
  std::erase_if(directory, [](char c) { return c == '"' || c == '\''; });
  return directory;
}

// The module's assignments that were dumped since `since`, newest first.
std::vector<xla::Assignment> DumpedAssignments(const std::string& directory, std::string_view module,
                                               std::filesystem::file_time_type since) {
  namespace fs = std::filesystem;
  const std::string name = fmt::format(".{}.", module);
  std::vector<std::pair<fs::file_time_type, std::string>> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().filename().string();
    if (file.ends_with("buffer-assignment.txt") && file.find(name) != std::string::npos) {
      const fs::file_time_type time = at->last_write_time(error);
      if (!error && time >= since) {
        files.emplace_back(time, at->path().string());
      }
    }
  }
  std::sort(files.rbegin(), files.rend());
  files.resize(std::min(files.size(), kMostDumps));
  std::vector<xla::Assignment> assignments;
  for (const auto& [time, path] : files) {
    if (auto assignment = xla::LoadAssignment(path)) {
      assignments.push_back(std::move(*assignment));
    }
  }
  return assignments;
}

// Bytes that go on to our standard error as they came. Once nobody reads it, they are only captured.
class PassThrough {
 public:
  void Write(std::string_view bytes) {
    while (open_ && !bytes.empty()) {
      const ssize_t count = write(STDERR_FILENO, bytes.data(), bytes.size());
      if (count >= 0) {
        bytes.remove_prefix(static_cast<size_t>(count));
      } else if (errno == EAGAIN) {
        pollfd wait = {STDERR_FILENO, POLLOUT, 0};
        poll(&wait, 1, kPollMs);
      } else if (errno != EINTR) {
        open_ = false;
      }
    }
  }

 private:
  bool open_ = true;
};

// One line that is written over itself, when a person looks on.
class Progress {
 public:
  void Show(uint64_t steps, uint64_t bytes) {
    const Clock::time_point now = Clock::now();
    if (!terminal_ || now - shown_ < kProgressEvery) {
      return;
    }
    const double seconds = std::chrono::duration<double>(now - shown_).count();
    const std::string line = fmt::format("\r\x1b[K[remaplab: {} steps, {:.1f} MB/s of log]\r", steps,
                                         static_cast<double>(bytes - bytes_) / seconds / 1e6);
    static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
    shown_ = now;
    bytes_ = bytes;
    dirty_ = true;
  }
  void Clear() {
    if (dirty_) {
      static_cast<void>(!write(STDERR_FILENO, "\r\x1b[K", 4));
      dirty_ = false;
    }
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool dirty_ = false;
  Clock::time_point shown_ = Clock::now();
  uint64_t bytes_ = 0;
};

// Reads until the command has ended and said all it had to say. The status is the capture's, not the command's.
Status Stream(ChildProcess& child, xla::XlaLogImporter& importer) {
  LineFeeder feeder([&](std::string_view line) { return importer.Line(line); });
  PassThrough pass_through;
  Progress progress;
  Status status;
  std::vector<char> buffer(size_t{64} << 10);
  Clock::time_point heard = Clock::now();
  while (true) {
    pollfd wait = {child.error_output(), POLLIN, 0};
    const int ready = poll(&wait, 1, kPollMs);
    if (ready > 0) {
      const ssize_t count = read(child.error_output(), buffer.data(), buffer.size());
      if (count == 0) {
        break;
      }
      if (count > 0) {
        const std::string_view bytes(buffer.data(), static_cast<size_t>(count));
        heard = Clock::now();
        progress.Clear();
        pass_through.Write(bytes);
        if (status) {
          status = feeder.Feed(bytes);
        }
      }
    } else if (child.Ended() && Clock::now() - heard > kSilence) {
      break;
    }
    progress.Show(importer.steps(), feeder.bytes());
  }
  progress.Clear();
  while (!child.Ended()) {
    poll(nullptr, 0, kPollMs);
  }
  if (status) {
    status = feeder.End();
  }
  return status;
}

}  // namespace

Result<int> CaptureRun(xla::XlaLogOptions options, const std::string& output, const std::vector<std::string>& command) {
  options.log_name = command[0];
  options.partial = true;
  options.assignments_may_not_fit = true;
  if (const std::string directory = DumpDirectory(); !directory.empty()) {
    const auto since = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(2);
    options.find_assignments = [directory, since](std::string_view module) {
      return DumpedAssignments(directory, module, since);
    };
  }
  xla::XlaLogImporter importer(std::move(options),
                               [&](const TraceHeader& header) { return TraceWriter::Create(output, header); });
  REMAPLAB_ASSIGN(ChildProcess child, ChildProcess::Start(command, LogVariables()));
  const Status streamed = Stream(child, importer);
  Result<ImportReport> report = streamed ? importer.Finish() : Result<ImportReport>(Fail(streamed.error()));
  if (report) {
    PrintReport(output, *report);
  } else if (child.exit_code() != 0) {
    Warn(fmt::format("no trace: {}", report.error().message()));
  }
  if (child.exit_code() == 0) {
    if (!report) {
      return Fail(std::move(report).error());
    }
    return kOk;
  }
  if (child.signal() != 0) {
    Warn(fmt::format("the command was killed by signal {} ({})", child.signal(), strsignal(child.signal())));
  } else {
    Warn(fmt::format("the command itself exited with {}", child.exit_code()));
  }
  return child.exit_code();
}

}  // namespace remaplab::cli
