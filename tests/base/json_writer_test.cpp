#include "base/json_writer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

namespace remaplab {

BOOST_AUTO_TEST_SUITE(JsonWriterTest)

BOOST_AUTO_TEST_CASE(nested_values_are_separated_by_commas) {
  JsonWriter json;
  json.BeginObject().Key("a").BeginArray().Int(-1).UInt(2).BeginObject().EndObject().EndArray();
  json.Key("b").Bool(true).Key("c").Null().Key("d").Double(0.5).EndObject();
  BOOST_TEST(json.text() == R"({"a":[-1,2,{}],"b":true,"c":null,"d":0.5})");
}

BOOST_AUTO_TEST_CASE(quotes_backslashes_and_control_characters_are_escaped) {
  std::string out;
  AppendJsonEscaped(out, "a\"b\\c\n\t\x01");
  BOOST_TEST(out == R"(a\"b\\c\n\t\u0001)");
}

BOOST_AUTO_TEST_CASE(valid_utf8_passes_and_other_bytes_become_the_replacement_character) {
  std::string out;
  AppendJsonEscaped(out, "\xce\xbcs \xff \xc0\xaf \xed\xa0\x80 \xf0\x9f\x98\x80 \xe2\x82");
  const std::string bad = "\xef\xbf\xbd";
  BOOST_TEST(out == "\xce\xbcs " + bad + " " + bad + bad + " " + bad + bad + bad + " \xf0\x9f\x98\x80 " + bad + bad);
}

BOOST_AUTO_TEST_CASE(numbers_that_json_cannot_say_become_null) {
  JsonWriter json;
  json.BeginArray().Double(std::numeric_limits<double>::infinity()).Double(std::nan("")).EndArray();
  BOOST_TEST(json.text() == "[null,null]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
