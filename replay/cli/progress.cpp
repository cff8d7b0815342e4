#include "replay/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace remaplab::cli {
namespace {

using std::chrono::steady_clock;

std::string HumanSeconds(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole >= 3600) {
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  }
  return whole >= 60 ? fmt::format("{} min {} s", whole / 60, whole % 60) : fmt::format("{} s", whole);
}

}  // namespace

std::string ProgressText(uint64_t done, uint64_t total, std::string_view unit, std::chrono::nanoseconds elapsed) {
  std::string text = fmt::format("{}/{} {}", done, total, unit);
  const double seconds = std::chrono::duration<double>(elapsed).count();
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    text += fmt::format(", {:.3g}/s, {} left", rate, HumanSeconds(static_cast<double>(total - done) / rate));
  }
  return text;
}

ProgressLine::ProgressLine(std::string unit) : unit_(std::move(unit)), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (drawn_) {
    std::fputc('\n', stderr);
  }
}

void ProgressLine::Update(uint64_t done, uint64_t total, std::chrono::nanoseconds elapsed, std::string_view note) {
  const steady_clock::time_point now = steady_clock::now();
  if (now < next_ && done != total) {
    return;
  }
  next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10));
  const std::string text = ProgressText(done, total, unit_, elapsed) + (note.empty() ? "" : ", ") + std::string(note);
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", text);
    drawn_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

}  // namespace remaplab::cli
