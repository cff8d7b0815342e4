#include <boost/test/unit_test.hpp>

#include "tests/cli/remaplab_process.h"

namespace remaplab::testing {

BOOST_AUTO_TEST_SUITE(CommandLineTest)

BOOST_AUTO_TEST_CASE(version_and_help_succeed_and_no_command_is_a_usage_error) {
  const ProcessResult version = RunRemaplab({"--version"});
  BOOST_TEST(version.exit_code == 0);
  BOOST_TEST(version.output.starts_with("remaplab "));
  const ProcessResult help = RunRemaplab({"--help"});
  BOOST_TEST(help.exit_code == 0);
  BOOST_TEST(help.output.find("replay") != std::string::npos);
  BOOST_TEST(RunRemaplab({}).exit_code == 2);
}

BOOST_AUTO_TEST_CASE(every_command_explains_itself_with_an_example) {
  const ProcessResult overview = RunRemaplab({"--help"});
  size_t commands = 0;
  size_t at = overview.output.find("commands:\n");
  BOOST_REQUIRE(at != std::string::npos);
  at = overview.output.find('\n', at) + 1;
  while (overview.output.compare(at, 2, "  ") == 0) {
    const std::string name = overview.output.substr(at + 2, overview.output.find(' ', at + 2) - at - 2);
    const ProcessResult help = RunRemaplab({name, "--help"});
    BOOST_TEST(help.exit_code == 0, name);
    const size_t example = help.output.find("example:\n  remaplab " + name);
    BOOST_TEST(example != std::string::npos, name << " has no worked example");
    ++commands;
    at = overview.output.find('\n', at) + 1;
  }
  BOOST_TEST(commands >= 5u);
}

BOOST_AUTO_TEST_CASE(unknown_commands_options_and_extra_arguments_are_refused) {
  const ProcessResult command = RunRemaplab({"reply"});
  BOOST_TEST(command.exit_code == 2);
  BOOST_TEST(command.errors.find("no command 'reply'") != std::string::npos);
  const ProcessResult option = RunRemaplab({"list", "--nonsense"});
  BOOST_TEST(option.exit_code == 2);
  BOOST_TEST(option.errors.find("nonsense") != std::string::npos);
  const ProcessResult extra = RunRemaplab({"list", "what"});
  BOOST_TEST(extra.exit_code == 2);
  BOOST_TEST(extra.errors.find("'what' is one argument too many") != std::string::npos);
  const ProcessResult missing = RunRemaplab({"replay", "--strategy", "full_remap"});
  BOOST_TEST(missing.exit_code == 2);
  BOOST_TEST(missing.errors.find("TRACE is missing") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::testing
