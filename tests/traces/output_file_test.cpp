#include "traces/output_file.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "tests/traces/trace_testing.h"
#include "traces/writer.h"

namespace remaplab {

BOOST_AUTO_TEST_SUITE(OutputFileTest)

BOOST_AUTO_TEST_CASE(nothing_is_seen_before_commit) {
  const TemporaryFolder folder;
  const std::string path = folder.File("f");
  auto file = OutputFile::Create(path);
  BOOST_REQUIRE(file.has_value());
  BOOST_REQUIRE(file->Write("text").has_value());
  BOOST_TEST(!std::filesystem::exists(path));
  BOOST_REQUIRE(file->Commit().has_value());
  BOOST_TEST(ReadBytes(path) == "text");
}

BOOST_AUTO_TEST_CASE(what_was_there_stays_until_commit_and_when_the_writer_gives_up) {
  const TemporaryFolder folder;
  const std::string path = folder.File("f");
  WriteBytes(path, "old");
  {
    auto file = OutputFile::Create(path);
    BOOST_REQUIRE(file.has_value());
    BOOST_REQUIRE(file->Write("new").has_value());
    BOOST_TEST(ReadBytes(path) == "old");
  }
  BOOST_TEST(ReadBytes(path) == "old");
  auto file = OutputFile::Create(path);
  BOOST_REQUIRE(file->Write("new").has_value());
  BOOST_REQUIRE(file->Commit().has_value());
  BOOST_TEST(ReadBytes(path) == "new");
}

BOOST_AUTO_TEST_CASE(a_symbolic_link_stays_a_link) {
  const TemporaryFolder folder;
  WriteBytes(folder.File("target"), "old");
  std::filesystem::create_symlink("target", folder.File("link"));
  auto file = OutputFile::Create(folder.File("link"));
  BOOST_REQUIRE(file.has_value());
  BOOST_REQUIRE(file->Write("new").has_value());
  BOOST_REQUIRE(file->Commit().has_value());
  BOOST_TEST(std::filesystem::is_symlink(folder.File("link")));
  BOOST_TEST(ReadBytes(folder.File("target")) == "new");
}

BOOST_AUTO_TEST_CASE(a_device_is_written_to_and_not_replaced) {
  auto file = OutputFile::Create("/dev/null");
  BOOST_REQUIRE(file.has_value());
  BOOST_REQUIRE(file->Write("gone").has_value());
  BOOST_REQUIRE(file->Commit().has_value());
  BOOST_TEST(std::filesystem::is_character_file("/dev/null"));
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_written_is_an_io_error_that_names_the_file) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.File("no/such/folder"), folder.File("")}) {
    const auto file = OutputFile::Create(path);
    BOOST_REQUIRE(!file.has_value());
    BOOST_TEST((file.error().code() == ErrorCode::kIo));
    BOOST_TEST(file.error().message().starts_with(path));
  }
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_reported_by_finish) {
  auto writer = TraceWriter::Create("/dev/full", TraceHeader{});
  BOOST_REQUIRE(writer.has_value());
  const Status status = writer->Finish(TraceEnd{});
  BOOST_REQUIRE(!status.has_value());
  BOOST_TEST((status.error().code() == ErrorCode::kIo));
}

BOOST_AUTO_TEST_CASE(a_killed_writer_leaves_no_file) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    auto writer = TraceWriter::Create(folder.File("t.remaptrace.zst"), TraceHeader{});
    for (uint64_t i = 0; writer && i < 100000; ++i) {
      writer->Alloc({.backing = i, .address = i, .size = 8});
    }
    raise(SIGKILL);
    _exit(0);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFSIGNALED(status));
  BOOST_TEST(folder.Empty());
}

BOOST_AUTO_TEST_CASE(a_writer_that_is_dropped_leaves_no_file) {
  const TemporaryFolder folder;
  {
    auto writer = TraceWriter::Create(folder.File("t.remaptrace"), TraceHeader{});
    BOOST_REQUIRE(writer.has_value());
    writer->Mark({"m", 1});
  }
  BOOST_TEST(folder.Empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
