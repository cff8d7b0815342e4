#include "replay/cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace remaplab::cli {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> forward_to{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

// The terminal sends its signals to the whole foreground group, so the child has them already.
extern "C" void Forward(int number, siginfo_t* info, void*) {
  const int saved = errno;
  const pid_t child = forward_to.load();
  if (child > 0 && info != nullptr && (info->si_code == SI_USER || info->si_code == SI_QUEUE)) {
    kill(child, number);
  }
  errno = saved;
}

void InstallForwarding() {
  struct sigaction action {};
  action.sa_sigaction = Forward;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : kForwarded) {
    sigaction(number, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

void DefaultSignals() {
  for (const int number : kForwarded) {
    std::signal(number, SIG_DFL);
  }
  std::signal(SIGPIPE, SIG_DFL);
}

// Only returns when the command cannot be run; the reason goes through `report`.
[[noreturn]] void BecomeCommand(const std::vector<std::string>& command,
                                const std::vector<std::pair<std::string, std::string>>& variables, int errors,
                                int report, const sigset_t& mask) {
  DefaultSignals();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  for (const auto& [name, value] : variables) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> words;
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  if (dup2(errors, STDERR_FILENO) >= 0) {
    execvp(words[0], words.data());
  }
  const int reason = errno;
  static_cast<void>(!write(report, &reason, sizeof(reason)));
  _exit(127);
}

std::string Reason(int number) { return std::strerror(number); }

}  // namespace

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& command,
                                         const std::vector<std::pair<std::string, std::string>>& variables) {
  int errors[2];
  int report[2];
  if (pipe2(errors, O_CLOEXEC) != 0) {
    return Fail(ErrorCode::kIo, "cannot make a pipe: " + Reason(errno));
  }
  if (pipe2(report, O_CLOEXEC) != 0) {
    const std::string why = Reason(errno);
    close(errors[0]);
    close(errors[1]);
    return Fail(ErrorCode::kIo, "cannot make a pipe: " + why);
  }
  InstallForwarding();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    BecomeCommand(command, variables, errors[1], report[1], before);
  }
  const int fork_error = errno;
  forward_to = pid > 0 ? pid : 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(errors[1]);
  close(report[1]);
  int reason = 0;
  ssize_t count = 0;
  if (pid > 0) {
    do {
      count = read(report[0], &reason, sizeof(reason));
    } while (count < 0 && errno == EINTR);
  }
  close(report[0]);
  if (pid < 0 || count == sizeof(reason)) {
    close(errors[0]);
    forward_to = 0;
    if (pid > 0) {
      waitpid(pid, nullptr, 0);
    }
    return Fail(ErrorCode::kIo, fmt::format("cannot run '{}': {}", command[0], Reason(pid < 0 ? fork_error : reason)));
  }
  return ChildProcess(pid, errors[0]);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_),
      error_output_(std::exchange(other.error_output_, -1)),
      ended_(other.ended_),
      exit_code_(other.exit_code_),
      signal_(other.signal_) {}

ChildProcess::~ChildProcess() {
  if (error_output_ >= 0) {
    close(error_output_);
  }
}

bool ChildProcess::Ended() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = true;
    forward_to = 0;
    signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit_code_ = signal_ != 0 ? 128 + signal_ : WEXITSTATUS(status);
  }
  return ended_;
}

}  // namespace remaplab::cli
