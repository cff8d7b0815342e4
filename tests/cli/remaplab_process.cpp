#include "tests/cli/remaplab_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace remaplab::testing {
namespace {

namespace fs = std::filesystem;

std::string TakeFile(const fs::path& path) {
  std::string text = ReadFile(path.string());
  fs::remove(path);
  return text;
}

}  // namespace

ProcessResult RunProgram(const std::vector<std::string>& words) {
  static int runs = 0;
  const fs::path base =
      fs::path(REMAPLAB_BINARY_DIR) / ("process_" + std::to_string(getpid()) + "_" + std::to_string(runs++));
  const std::string out = base.string() + ".out";
  const std::string err = base.string() + ".err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  pid_t child = 0;
  const int spawned = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) {
    throw std::runtime_error("cannot start " + words[0]);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ProcessResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = TakeFile(out);
  result.errors = TakeFile(err);
  return result;
}

ProcessResult RunRemaplab(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {REMAPLAB_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return RunProgram(words);
}

std::string FreshFolder(const std::string& name) {
  const fs::path folder = fs::path(REMAPLAB_BINARY_DIR) / "test_files" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string ExampleFile(const std::string& name) {
  return (fs::path(REMAPLAB_SOURCE_DIR) / "traces" / "examples" / name).string();
}

std::string SharedCapture(const std::string& name) {
  const fs::path path = fs::path(REMAPLAB_SOURCE_DIR).parent_path() / "shared" / "captures" / name;
  return fs::exists(path) ? path.string() : std::string();
}

}  // namespace remaplab::testing
