#include "replay/sweep/shard.h"

#include <boost/test/unit_test.hpp>
#include <map>

namespace remaplab::testing {
namespace {

// An environment with exactly these variables.
Environment Variables(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Shard MustFind(const Environment& environment) {
  const Result<std::optional<Shard>> shard = ShardFromEnvironment(environment);
  BOOST_REQUIRE_MESSAGE(shard, (shard ? "" : shard.error().message()));
  BOOST_REQUIRE(shard->has_value());
  return **shard;
}

const std::map<std::string, std::string> kPmi = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
const std::map<std::string, std::string> kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}};
const std::map<std::string, std::string> kSrun = {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}};
const std::map<std::string, std::string> kArray = {{"SLURM_ARRAY_TASK_ID", "14"},
                                                   {"SLURM_ARRAY_TASK_COUNT", "5"},
                                                   {"SLURM_ARRAY_TASK_MIN", "2"},
                                                   {"SLURM_ARRAY_TASK_STEP", "4"}};

}  // namespace

BOOST_AUTO_TEST_SUITE(ShardTest)

BOOST_AUTO_TEST_CASE(without_a_scheduler_there_is_no_shard) {
  const Result<std::optional<Shard>> shard = ShardFromEnvironment(Variables({{"HOME", "/root"}}));
  BOOST_REQUIRE(shard);
  BOOST_TEST(!shard->has_value());
}

BOOST_AUTO_TEST_CASE(each_scheduler_is_read_and_named) {
  const Shard pmi = MustFind(Variables(kPmi));
  BOOST_TEST((pmi.index == 1 && pmi.count == 2 && pmi.source == "PMI (PMI_RANK=1)"));
  const Shard open_mpi = MustFind(Variables(kOpenMpi));
  BOOST_TEST((open_mpi.index == 2 && open_mpi.count == 3 && open_mpi.source == "Open MPI (OMPI_COMM_WORLD_RANK=2)"));
  const Shard srun = MustFind(Variables(kSrun));
  BOOST_TEST((srun.index == 3 && srun.count == 4 && srun.source == "srun (SLURM_PROCID=3)"));
  const Shard array = MustFind(Variables(kArray));
  BOOST_TEST((array.index == 3 && array.count == 5 && array.source == "Slurm array (SLURM_ARRAY_TASK_ID=14)"));
}

BOOST_AUTO_TEST_CASE(the_order_is_array_then_srun_then_open_mpi_then_pmi) {
  std::map<std::string, std::string> variables = kPmi;
  variables.insert(kOpenMpi.begin(), kOpenMpi.end());
  BOOST_TEST(MustFind(Variables(variables)).source == "Open MPI (OMPI_COMM_WORLD_RANK=2)");
  BOOST_TEST(MustFind(Variables(variables)).unused == "PMI");
  variables.insert(kSrun.begin(), kSrun.end());
  BOOST_TEST(MustFind(Variables(variables)).source == "srun (SLURM_PROCID=3)");
  variables.insert(kArray.begin(), kArray.end());
  BOOST_TEST(MustFind(Variables(variables)).source == "Slurm array (SLURM_ARRAY_TASK_ID=14)");
  BOOST_TEST(MustFind(Variables(variables)).unused == "srun, Open MPI, PMI");
}

BOOST_AUTO_TEST_CASE(every_element_of_an_array_has_a_place_of_its_own) {
  for (uint32_t element = 0; element < 5; ++element) {
    std::map<std::string, std::string> variables = kArray;
    variables["SLURM_ARRAY_TASK_ID"] = std::to_string(2 + 4 * element);
    BOOST_TEST(MustFind(Variables(variables)).index == element);
  }
}

BOOST_AUTO_TEST_CASE(an_array_of_uneven_numbers_is_refused) {
  // sbatch --array=1,5,6: three elements whose places cannot be told from the variables.
  const Result<std::optional<Shard>> shard = ShardFromEnvironment(Variables({{"SLURM_ARRAY_TASK_ID", "6"},
                                                                             {"SLURM_ARRAY_TASK_COUNT", "3"},
                                                                             {"SLURM_ARRAY_TASK_MIN", "1"},
                                                                             {"SLURM_ARRAY_TASK_STEP", "1"}}));
  BOOST_REQUIRE(!shard);
  BOOST_TEST(shard.error().message().find("--shard i/n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_rank_without_a_count_is_passed_over) {
  // A batch script that was not started by srun has SLURM_PROCID=0 and may have no SLURM_NTASKS.
  std::map<std::string, std::string> variables = {{"SLURM_PROCID", "0"}};
  BOOST_TEST(!ShardFromEnvironment(Variables(variables))->has_value());
  variables.insert(kPmi.begin(), kPmi.end());
  BOOST_TEST(MustFind(Variables(variables)).source == "PMI (PMI_RANK=1)");
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_no_number_is_an_error_and_not_zero) {
  for (const char* text : {"", "x", "-1", "1.5", "4"}) {
    const auto shard = ShardFromEnvironment(Variables({{"PMI_RANK", text}, {"PMI_SIZE", "4"}}));
    BOOST_TEST(!shard, text);
  }
  BOOST_TEST(!ShardFromEnvironment(Variables({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}})));
}

BOOST_AUTO_TEST_CASE(shards_on_the_command_line_count_from_zero) {
  BOOST_TEST((ParseShard("0/3")->index == 0 && ParseShard("2/3")->index == 2 && ParseShard("2/3")->count == 3));
  for (const char* text : {"3/3", "0/0", "1", "/", "1/", "/2", "-1/2", "a/b", "1/2/3", "0/1000001"}) {
    BOOST_TEST(!ParseShard(text), text);
  }
}

BOOST_AUTO_TEST_CASE(the_local_rank_picks_a_device_unless_somebody_has) {
  BOOST_TEST(**LocalRankFromEnvironment(Variables({{"SLURM_LOCALID", "5"}})) == 5);
  BOOST_TEST(**LocalRankFromEnvironment(Variables({{"OMPI_COMM_WORLD_LOCAL_RANK", "6"}})) == 6);
  BOOST_TEST(!LocalRankFromEnvironment(Variables({}))->has_value());
  BOOST_TEST(
      !LocalRankFromEnvironment(Variables({{"SLURM_LOCALID", "5"}, {"ROCR_VISIBLE_DEVICES", "2"}}))->has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::testing
