#include <zlib.h>

#include "tests/importers_calls/recordings.h"

namespace remaplab {
namespace {

constexpr std::string_view kCallHeader =
    "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";
constexpr std::string_view kAllocationHeader =
    "\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\",\"Correlation_Id\",\"Start_Timestamp\","
    "\"End_Timestamp\"\n";

std::string Row(std::string_view function, uint64_t correlation, int64_t start, int64_t end) {
  return fmt::format("\"HIP_RUNTIME_API_EXT\",\"{}\",4711,4712,{},{},{}\n", function, correlation, start, end);
}

struct Csv {
  TemporaryFolder folder;
  std::string path = folder.File("4711_hip_api_trace.csv");

  void Write(const std::string& rows, std::string_view header = kCallHeader) {
    WriteBytes(path, std::string(header) + rows);
  }
  CallRecording Import(const std::string& rows, std::string_view header = kCallHeader) {
    Write(rows, header);
    return Must(ImportCalls(path));
  }
};

BOOST_FIXTURE_TEST_SUITE(rocprofv3_csv, Csv)

BOOST_AUTO_TEST_CASE(calls_have_times_and_threads_and_no_arguments) {
  const CallRecording recording = Import(Row("hipMemUnmap", 1, 100, 300) + Row("hipGetDevice", 2, 310, 311));
  BOOST_TEST(recording.source == "rocprofv3-csv");
  BOOST_TEST(recording.source_version == "HIP_RUNTIME_API_EXT");
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  const DriverCall& call = recording.calls[0];
  BOOST_TEST((call.kind == CallKind::kUnmap));
  BOOST_TEST(call.duration() == 200);
  BOOST_TEST(call.size == DriverCall::kUnknown);
  BOOST_TEST(call.chunks == 0u);
  BOOST_TEST(recording.threads[0].tid == 4712u);
  BOOST_TEST(HasLoss(recording, "no arguments"));
}

BOOST_AUTO_TEST_CASE(columns_are_found_by_name_in_any_order) {
  const CallRecording recording =
      Import("7,x,hipMemMap,5,HIP_RUNTIME_API,1,2,9\n",
             "Start_Timestamp,Extra,Function,Correlation_Id,Domain,Process_Id,Thread_Id,End_Timestamp\n");
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  BOOST_TEST(recording.calls[0].duration() == 2);
  BOOST_TEST(recording.threads[0].pid == 1u);
}

BOOST_AUTO_TEST_CASE(carriage_returns_byte_order_marks_and_doubled_quotes_are_read) {
  const CallRecording recording =
      Import("\"HIP_\"\"RUNTIME\",\"hipMemMap\",1,2,3,10,20\r\n\r\n", "\xef\xbb\xbf" + std::string(kCallHeader));
  BOOST_TEST(recording.calls.size() == 1u);
}

BOOST_AUTO_TEST_CASE(sizes_of_creates_come_from_the_allocation_trace_beside) {
  WriteBytes(folder.File("4711_memory_allocation_trace.csv"),
             std::string(kAllocationHeader) +
                 "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_VMEM_ALLOCATE\",\"Agent 4\",2097152,\"0x00\",5,110,190\n"
                 "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_VMEM_ALLOCATE\",\"Agent 4\",4096,\"0x00\",6,900,950\n"
                 "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 4\",64,\"0x00\",7,1,2\n");
  const CallRecording recording = Import(Row("hipMemCreate", 5, 100, 200) + Row("hipMemCreate", 6, 300, 400));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST(recording.calls[0].size == 2097152u);
  BOOST_TEST(recording.calls[1].size == DriverCall::kUnknown);  // same id, but at another time
  BOOST_TEST(HasLoss(recording, "beside the file", 1));
}

BOOST_AUTO_TEST_CASE(an_allocation_trace_alone_has_creates_and_releases) {
  const CallRecording recording = Import(
      "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_VMEM_ALLOCATE\",\"Agent 4\",2097152,\"0x7f00\",5,110,190\n"
      "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_VMEM_FREE\",\"\",0,\"0x7f00\",6,200,210\n"
      "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_FREE\",\"\",0,\"0x7f00\",7,220,230\n",
      kAllocationHeader);
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST((recording.calls[0].kind == CallKind::kCreate));
  BOOST_TEST(recording.calls[0].size == 2097152u);
  BOOST_TEST((recording.calls[1].kind == CallKind::kRelease));
  BOOST_TEST(!recording.threads_known);
  BOOST_TEST(HasLoss(recording, "left out", 1));
}

BOOST_AUTO_TEST_CASE(statistics_are_refused_with_a_hint) {
  Write("\"hipMemMap\",5,100,20,1.0,1,50,3\n",
        "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n");
  BOOST_TEST(Contains(ErrorOf(path), "line 1: these are statistics"));
}

BOOST_AUTO_TEST_CASE(a_wrong_number_of_fields_names_the_line) {
  Write(Row("hipMemMap", 1, 10, 20) + "\"HIP_RUNTIME_API\",\"hipMemMap\",1\n" + Row("hipMemMap", 2, 30, 40));
  const std::string error = ErrorOf(path);
  BOOST_TEST(Contains(error, path + ": line 3: 3 fields where there are 7 columns"));
}

BOOST_AUTO_TEST_CASE(a_last_line_that_is_cut_off_is_left_out_and_said) {
  const CallRecording recording = Import(Row("hipMemMap", 1, 10, 20) + "\"HIP_RUNTIME_API_EXT\",\"hipMem");
  BOOST_TEST(recording.calls.size() == 1u);
  BOOST_TEST(HasLoss(recording, "cut off", 1));
}

BOOST_AUTO_TEST_CASE(open_quotes_and_text_behind_quotes_are_errors) {
  Write("\"HIP_RUNTIME_API,hipMemMap,1,2,3,4,5\n");
  BOOST_TEST(Contains(ErrorOf(path), "line 2: a quote is not closed"));
  Write("\"HIP\"x,hipMemMap,1,2,3,4,5\n");
  BOOST_TEST(Contains(ErrorOf(path), "line 2: there is text behind a closing quote"));
}

BOOST_AUTO_TEST_CASE(values_that_are_no_numbers_name_the_line) {
  Write("HIP_RUNTIME_API,hipMemMap,1,2,3,soon,5\n");
  BOOST_TEST(Contains(ErrorOf(path), "line 2: "));
  Write("HIP_RUNTIME_API,hipMemMap,1,2,3,9,5\n");
  BOOST_TEST(Contains(ErrorOf(path), "before it starts"));
}

BOOST_AUTO_TEST_CASE(a_gzip_file_is_read) {
  path = folder.File("x_hip_api_trace.csv.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  const std::string text = std::string(kCallHeader) + Row("hipMemMap", 1, 10, 20);
  BOOST_REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0);
  gzclose(file);
  BOOST_TEST(Must(ImportCalls(path)).calls.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
