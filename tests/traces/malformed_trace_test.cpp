// One line that is wrong, and what the reader says about it.
#include <boost/test/unit_test.hpp>

#include "tests/traces/trace_testing.h"
#include "traces/reader.h"

namespace remaplab {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto trace = ParseTrace(text, "t");
  if (trace) {
    return "";
  }
  BOOST_TEST((trace.error().code() == ErrorCode::kInput));
  return trace.error().message();
}

void CheckError(const std::string& text, const std::string& message) {
  const std::string error = ErrorOf(text);
  BOOST_TEST(error == message, "\n  text:     " << text << "\n  expected: " << message << "\n  got:      " << error);
}

// `line` as line 6, behind the prelude.
struct BadLine {
  const char* line;
  const char* message;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(MalformedTraceTest)

BOOST_AUTO_TEST_CASE(a_bad_header_is_refused) {
  const BadLine cases[] = {
      {"", "t: not a remaptrace: the file is empty"},
      {"\n\n", "t: not a remaptrace: the file is empty"},
      {"garbage\n", "t:1: not a remaptrace: not JSON: "},
      {"\x01\x02\x03\xff", "t:1: not a remaptrace: not JSON: "},
      {"{\"remaptr", "t:1: not a remaptrace: not JSON: "},
      {"[1]\n", "t:1: not a remaptrace: the line must be a JSON object, not [1]"},
      {"{}\n", "t:1: not a remaptrace: the first line has no field 'remaptrace'"},
      {"{\"event\":\"end\"}\n", "t:1: not a remaptrace: the first line has no field 'remaptrace'"},
      {"{\"remaptrace\":2}\n", "t:1: header: the file has format version 2, this program reads versions up to 1"},
      {"{\"remaptrace\":0}\n", "t:1: header: field 'remaptrace' must be a whole number from 1 to 2147483647, not 0"},
      {"{\"remaptrace\":\"1\"}\n",
       "t:1: header: field 'remaptrace' must be a whole number from 1 to 2147483647, not \"1\""},
      {"{\"remaptrace\":1,\"time_unit\":\"us\"}\n", "t:1: header: field 'time_unit' must be \"ns\", not \"us\""},
      {"{\"remaptrace\":1,\"granularity\":-1}\n",
       "t:1: header: field 'granularity' must be a whole number from 0 to 1099511627776, not -1"},
      {"{\"remaptrace\":1,\"meta\":[]}\n", "t:1: header: field 'meta' must be an object, not []"},
      {"{\"remaptrace\":1,\"source\":5}\n", "t:1: header: field 'source' must be a string, not 5"},
      {"{\"remaptrace\":1,\"remaptrace\":1}\n", "t:1: header: field 'remaptrace' is there twice"},
  };
  for (const BadLine& bad : cases) {
    const std::string error = ErrorOf(bad.line);
    BOOST_TEST(error.starts_with(bad.message), "'" << bad.line << "' gave: " << error);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_refused_with_file_line_and_event) {
  const BadLine cases[] = {
      // What is no event.
      {R"(nonsense)", "not JSON: "},
      {R"({"event":"step",)", "not JSON: "},
      {"{\"event\":\"mark\",\"name\":\"\xff\"}", "not JSON: "},
      {R"({"event":"mark","name":99999999999999999999999})", "not JSON: "},
      {R"([])", "the line must be a JSON object, not []"},
      {R"("step")", "the line must be a JSON object, not \"step\""},
      {R"({})", "line: field 'event' is missing"},
      {R"({"event":7})", "line: field 'event' must be a string, not 7"},
      {R"({"event":"end","event":"end"})", "line: field 'event' is there twice"},
      // Shapes and ranges.
      {R"({"event":"alloc","address":null,"size":1})", "alloc: field 'backing' is missing"},
      {R"({"event":"alloc","backing":12,"size":1})", "alloc: field 'address' is missing"},
      {R"({"event":"alloc","backing":12,"address":null})", "alloc: field 'size' is missing"},
      {R"({"event":"alloc","backing":12,"address":null,"size":null})", "alloc: field 'size' is missing"},
      {R"({"event":"alloc","backing":12,"address":null,"size":0})",
       "alloc: field 'size' must be a whole number from 1 to 281474976710656, not 0"},
      {R"({"event":"alloc","backing":12,"address":null,"size":1.0})",
       "alloc: field 'size' must be a whole number from 1 to 281474976710656, not 1"},
      {R"({"event":"alloc","backing":12,"address":null,"size":"8"})",
       "alloc: field 'size' must be a whole number from 1 to 281474976710656, not \"8\""},
      {R"({"event":"alloc","backing":-1,"address":null,"size":1})",
       "alloc: field 'backing' must be a whole number from 0 to 18446744073709551614, not -1"},
      {R"({"event":"alloc","backing":12,"address":4096,"size":1})",
       "alloc: field 'address' must be a string \"0x...\" of up to 64 bits or null, not 4096"},
      {R"({"event":"alloc","backing":12,"address":"4096","size":1})",
       "alloc: field 'address' must be a string \"0x...\" of up to 64 bits or null, not \"4096\""},
      {R"({"event":"alloc","backing":12,"address":"0xfffffffffffffffff","size":1})",
       "alloc: field 'address' must be a string \"0x...\" of up to 64 bits or null, not \"0xfffffffffffffffff\""},
      {R"({"event":"alloc","backing":12,"address":null,"size":1,"t":0.5})",
       "alloc: field 't' must be a whole number from -4611686018427387904 to 4611686018427387904, not 0.5"},
      {R"({"event":"alloc","backing":12,"address":null,"size":1,"reused":1})",
       "alloc: field 'reused' must be true or false, not 1"},
      {R"({"event":"free","backing":10,"deferred":"yes"})",
       "free: field 'deferred' must be true or false, not \"yes\""},
      {R"({"event":"mark"})", "mark: field 'name' is missing"},
      {R"({"event":"timing","kind":"update","ns":-1})",
       "timing: field 'ns' must be a whole number from 0 to 4611686018427387904, not -1"},
      {R"({"event":"step","program":0,"step":2,"bind":[],"duration":-1})",
       "step: field 'duration' must be a whole number from 0 to 100000000000000, not -1"},
      {R"({"event":"step","program":0,"step":2})", "step: field 'bind' is missing"},
      {R"({"event":"step","program":0,"step":2,"bind":7})", "step: field 'bind' must be an array, not 7"},
      {R"({"event":"step","program":0,"step":2,"bind":[[1,10],[3]]})",
       "step: field 'bind': entry 2 must be [slot, backing] or [slot, null], not [3]"},
      {R"({"event":"step","program":0,"step":2,"bind":[["1",10]]})",
       "step: field 'bind': entry 1 must be [slot, backing] or [slot, null], not [\"1\",10]"},
      {R"({"event":"end","identity":"maybe"})", "end: field 'identity' must be backing or address, not \"maybe\""},
      {R"({"event":"end","lost_events":-1})",
       "end: field 'lost_events' must be a whole number from 0 to 18446744073709551615, not -1"},
      // Slot tables.
      {R"({"event":"program","id":1,"slots":[]})", "program: field 'module' is missing"},
      {R"({"event":"program","id":1,"module":"m"})", "program: field 'slots' is missing"},
      {R"({"event":"program","id":4294967295,"module":"m","slots":[]})",
       "program: field 'id' must be a whole number from 0 to 4294967294, not 4294967295"},
      {R"({"event":"program","id":1,"module":"m","slots":[7]})",
       "program: entry 1 of 'slots' must be an object, not 7"},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":1,"size":1},{"index":2}]})",
       "program: entry 2 of 'slots': field 'size' is missing"},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":1,"size":0}]})",
       "program: entry 1 of 'slots': field 'size' must be a whole number from 1 to 281474976710656, not 0"},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":2,"size":1},{"index":1,"size":1}]})",
       "program: entry 2 of 'slots': index 1 does not ascend: the one before it is 2"},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":2,"size":1},{"index":2,"size":1}]})",
       "program: entry 2 of 'slots': index 2 does not ascend: the one before it is 2"},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":2,"size":1,"kind":"thing"}]})",
       "program: entry 1 of 'slots': field 'kind' must be parameter, output, temp or unknown, not \"thing\""},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":2,"size":1,"access":7}]})",
       "program: entry 1 of 'slots': field 'access' must be read, write, both or unknown, not 7"},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":2,"size":1,"in_command_buffer":"yes"}]})",
       "program: entry 1 of 'slots': field 'in_command_buffer' must be true or false, not \"yes\""},
      {R"({"event":"program","id":1,"module":"m","slots":[{"index":2,"size":1,"space":-1}]})",
       "program: entry 1 of 'slots': field 'space' must be a whole number from 0 to 2147483647, not -1"},
      // Lives of backings.
      {R"({"event":"alloc","backing":10,"address":"0x7f0000000000","size":4096})",
       "alloc: backing 10 is still allocated"},
      {R"({"event":"alloc","backing":12,"address":null,"size":1,"reused":true})",
       "alloc: backing 12 is \"reused\" but was never allocated before"},
      {R"({"event":"free","backing":12})", "free: backing 12 was never allocated"},
      {R"({"event":"step","program":0,"step":2,"bind":[[1,12]]})", "step: backing 12 was never allocated"},
      // Bindings and programs.
      {R"({"event":"step","program":5,"step":2,"bind":[]})", "step: program 5 is not declared"},
      {R"({"event":"program_end","id":5})", "program_end: program 5 is not declared"},
      {R"({"event":"step","program":0,"step":2,"bind":[[2,10]]})",
       "step: slot 2 is not in the slot table of program 0"},
      {R"({"event":"step","program":0,"step":2,"bind":[[1,10],[1,11]]})", "step: slot 1 is bound twice"},
      {R"({"event":"step","program":0,"step":2,"bind":[[3,10],[1,11],[3,11]]})", "step: slot 3 is bound twice"},
  };
  for (const BadLine& bad : cases) {
    const std::string error = ErrorOf(Prelude() + bad.line + "\n" + std::string(kEndLine));
    const std::string expected = std::string("t:6: ") + bad.message;
    BOOST_TEST(error.starts_with(expected), bad.line << "\n  expected: " << expected << "\n  got:      " << error);
  }
}

BOOST_AUTO_TEST_CASE(a_freed_backing_is_not_used_again) {
  const std::string freed = Prelude() + R"({"event":"free","backing":10})" + "\n";
  CheckError(freed + R"({"event":"free","backing":10})" + "\n", "t:7: free: backing 10 was freed before");
  CheckError(freed + R"({"event":"alloc","backing":10,"address":"0x7f0000000000","size":4096})" + "\n",
             "t:7: alloc: backing 10 was freed for good; memory that comes after it needs an id of its own");
  CheckError(freed + R"({"event":"step","program":0,"step":2,"bind":[[3,10]]})" + "\n",
             "t:7: step: backing 10 was freed before");
  CheckError(freed + R"({"event":"step","program":0,"step":2,"bind":[]})" + "\n",
             "t:7: step: slot 1 of program 0 still holds backing 10, which was freed before");
  BOOST_TEST(ErrorOf(freed + R"({"event":"step","program":0,"step":2,"bind":[[1,11]]})" + "\n") == "");
}

BOOST_AUTO_TEST_CASE(a_backing_that_ended_is_noticed_by_each_program_that_holds_it) {
  const std::string two = Prelude() + R"({"event":"program","id":1,"module":"n","slots":[{"index":0,"size":8}]})"
                                      "\n"
                                      R"({"event":"step","program":1,"step":1,"bind":[[0,10]]})"
                                      "\n"
                                      R"({"event":"free","backing":10})"
                                      "\n"
                                      R"({"event":"step","program":0,"step":2,"bind":[[1,null]]})"
                                      "\n";
  BOOST_TEST(ErrorOf(two) == "");
  CheckError(two + R"({"event":"step","program":1,"step":2,"bind":[]})" + "\n",
             "t:10: step: slot 0 of program 1 still holds backing 10, which was freed before");
}

BOOST_AUTO_TEST_CASE(kept_memory_comes_back_as_it_was) {
  const std::string kept = Prelude() + R"({"event":"free","backing":10,"deferred":true})" + "\n";
  CheckError(kept + R"({"event":"free","backing":10,"deferred":true})" + "\n",
             "t:7: free: backing 10 was freed (deferred) before");
  CheckError(kept + R"({"event":"alloc","backing":10,"address":"0x7f0000001000","size":4096})" + "\n",
             "t:7: alloc: backing 10 comes back at another address; that is another backing");
  CheckError(
      kept + R"({"event":"alloc","backing":10,"address":"0x7f0000000000","size":4097})" + "\n",
      "t:7: alloc: backing 10 comes back with 4097 bytes, it had 4096: not the same when rounded to 4096; that is "
      "another backing");
  BOOST_TEST(ErrorOf(kept + R"({"event":"alloc","backing":10,"address":"0x7f0000000000","size":1})" + "\n") == "");
  BOOST_TEST(ErrorOf(kept + R"({"event":"free","backing":10})" + "\n") == "");
}

BOOST_AUTO_TEST_CASE(a_first_step_binds_every_slot) {
  const std::string declared = std::string(kHeaderLine).append(kProgramLine).append(kAllocLines);
  for (const char* bind : {"[]", "[[3,11]]"}) {
    CheckError(declared + R"({"event":"step","program":0,"step":1,"bind":)" + bind + "}\n",
               "t:5: step: the first step after a declaration must bind every slot, and slot 1 of program 0 is missing "
               "(null says unbound)");
  }
  CheckError(
      Prelude() + std::string(kProgramLine) + R"({"event":"step","program":0,"step":2,"bind":[[1,10]]})" + "\n",
      "t:7: step: the first step after a declaration must bind every slot, and slot 3 of program 0 is missing (null "
      "says unbound)");
}

BOOST_AUTO_TEST_CASE(a_program_that_ended_has_no_steps) {
  CheckError(Prelude() + R"({"event":"program_end","id":0})" + "\n" +
                 R"({"event":"step","program":0,"step":2,"bind":[]})" + "\n",
             "t:7: step: program 0 is not declared");
}

BOOST_AUTO_TEST_CASE(nothing_follows_the_end_line) {
  CheckError(WithEnd(Prelude()) + std::string(kEndLine), "t:7: a line after the end line");
  BOOST_TEST(ErrorOf(WithEnd(Prelude()) + "\n \n") == "");
}

BOOST_AUTO_TEST_CASE(slot_tables_are_bounded_in_total) {
  std::string line = R"({"event":"program","id":1,"module":"m","slots":[)";
  for (int i = 0; i <= 256; ++i) {
    line += (i > 0 ? "," : "") + ("{\"index\":" + std::to_string(i)) + ",\"size\":281474976710656}";
  }
  CheckError(Prelude() + line + "]}\n", "t:6: program: the slots' sizes sum up to more than 72057594037927936 bytes");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_an_io_error) {
  const auto trace = LoadTrace("/no/such/file");
  BOOST_REQUIRE(!trace.has_value());
  BOOST_TEST((trace.error().code() == ErrorCode::kIo));
  BOOST_TEST(trace.error().message() == "/no/such/file: cannot open: No such file or directory");
  BOOST_TEST(LoadTrace("/tmp").error().message() == "/tmp: cannot read: Is a directory");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
