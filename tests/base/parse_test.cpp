#include "base/parse.h"

#include <boost/test/unit_test.hpp>

#include "base/vocabulary.h"

namespace remaplab {

BOOST_AUTO_TEST_SUITE(ParseTest)

BOOST_AUTO_TEST_CASE(whole_numbers_are_read_in_decimal_and_hexadecimal) {
  BOOST_TEST(ParseUInt("65536", "n").value() == 65536u);
  BOOST_TEST(ParseUInt("0x7f00", "n").value() == 0x7f00u);
  BOOST_TEST(ParseInt("-3", "n").value() == -3);
}

BOOST_AUTO_TEST_CASE(text_that_is_no_number_is_refused_and_never_read_as_zero) {
  for (const char* text : {"", "x", "1x", "0x", "-1", "1.5", " 1", "18446744073709551616"}) {
    const auto result = ParseUInt(text, "--threshold");
    BOOST_TEST(!result.has_value(), "accepted '" << text << "'");
    BOOST_TEST(result.error().message().starts_with("--threshold: '"));
  }
}

BOOST_AUTO_TEST_CASE(byte_counts_take_binary_units) {
  BOOST_TEST(ParseBytes("2MiB", "n").value() == 2097152u);
  BOOST_TEST(ParseBytes("64K", "n").value() == 65536u);
  BOOST_TEST(ParseBytes("1.5GB", "n").value() == 1610612736u);
  BOOST_TEST(ParseBytes("4096", "n").value() == 4096u);
  for (const char* text : {"", "MiB", "2 MiB", "1.5", "1.5B", "-1K", "2MiBs"}) {
    BOOST_TEST(!ParseBytes(text, "n").has_value(), "accepted '" << text << "'");
  }
}

BOOST_AUTO_TEST_CASE(durations_are_nanoseconds) {
  BOOST_TEST(ParseDuration("552ms", "n").value() == 552000000);
  BOOST_TEST(ParseDuration("10us", "n").value() == 10000);
  BOOST_TEST(ParseDuration("1.5s", "n").value() == 1500000000);
  BOOST_TEST(ParseDuration("17", "n").value() == 17);
  for (const char* text : {"", "ms", "1m", "1..2ms", "-1ms"}) {
    BOOST_TEST(!ParseDuration(text, "n").has_value(), "accepted '" << text << "'");
  }
}

BOOST_AUTO_TEST_CASE(rule_9_switches_are_read_in_any_case_and_empty_means_unset) {
  for (const char* text : {"1", "TRUE", "On", "yes"}) {
    BOOST_TEST(ParseSwitch(text, false, "s").value() == true);
  }
  for (const char* text : {"0", "False", "OFF", "no"}) {
    BOOST_TEST(ParseSwitch(text, true, "s").value() == false);
  }
  BOOST_TEST(ParseSwitch("", true, "s").value() == true);
  BOOST_TEST(!ParseSwitch("maybe", true, "s").has_value());
}

BOOST_AUTO_TEST_CASE(ratios_are_positive) {
  const Ratio ratio = ParseRatio("1/64", "r").value();
  BOOST_TEST(ratio.numerator == 1u);
  BOOST_TEST(ratio.denominator == 64u);
  for (const char* text : {"0", "1/0", "/2", "1/", "a/b", "1/2/3"}) {
    BOOST_TEST(!ParseRatio(text, "r").has_value(), "accepted '" << text << "'");
  }
}

BOOST_AUTO_TEST_CASE(every_call_kind_has_a_name_that_parses_back) {
  for (size_t i = 0; i < kCallKindCount; ++i) {
    const CallKind kind = static_cast<CallKind>(i);
    BOOST_TEST((ParseCallKind(Name(kind)) == kind));
  }
  BOOST_TEST(!ParseCallKind("mapp").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
