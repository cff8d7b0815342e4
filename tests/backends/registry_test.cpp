#include "backends/registry.h"

#include <boost/test/unit_test.hpp>

namespace remaplab {

BOOST_AUTO_TEST_SUITE(RegistryTest)

BOOST_AUTO_TEST_CASE(an_unknown_backend_is_answered_with_the_known_ones) {
  const auto backend = MakeBackend("cuda", {});
  BOOST_TEST((backend.error().code() == ErrorCode::kUsage));
  BOOST_TEST(backend.error().message().find("null, sim, host") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(sim_refuses_options_that_mean_nothing) {
  const auto refuse = [](auto change) {
    BackendOptions options;
    change(options);
    const auto backend = MakeBackend("sim", options);
    BOOST_TEST(!backend.has_value());
    return backend ? ErrorCode::kInternal : backend.error().code();
  };
  BOOST_TEST((refuse([](BackendOptions& o) { o.driver_profile = "rocm"; }) == ErrorCode::kUsage));
  BOOST_TEST((refuse([](BackendOptions& o) { o.cost_profile = "h100"; }) == ErrorCode::kUsage));
  BOOST_TEST((refuse([](BackendOptions& o) { o.devices = 0; }) == ErrorCode::kUsage));
  BOOST_TEST((refuse([](BackendOptions& o) { o.granularity = 4096; }) == ErrorCode::kUsage));
  BOOST_TEST((refuse([](BackendOptions& o) { o.jitter = 2; }) == ErrorCode::kUsage));
  BOOST_TEST((refuse([](BackendOptions& o) { o.what_if = {"map.fixed"}; }) == ErrorCode::kUsage));
}

BOOST_AUTO_TEST_CASE(null_accepts_everything_and_its_clock_stands_still) {
  const auto null = MakeBackend("null", {}).value();
  const Address base = null->Reserve(1, 0).value();
  BOOST_TEST(null->Map(base, 123, 456).has_value());
  BOOST_TEST(null->Unmap(base + 1, 7).has_value());
  BOOST_TEST(null->Reserve(1, 0).value() != base);
  BOOST_TEST(null->EndStep(1, true).has_value());
  std::vector<StepEnd> ends;
  BOOST_TEST(null->TakeStepEnds(ends).has_value());
  BOOST_TEST(ends.size() == 1u);
  BOOST_TEST(null->now() == 0);
  BOOST_TEST(null->outstanding().empty());
}

BOOST_AUTO_TEST_CASE(a_backend_says_what_it_is) {
  BackendOptions options;
  options.driver_profile = "rocm-dev";
  const auto backend = MakeBackend("sim", options).value();
  BOOST_TEST(backend->info().name == "sim");
  BOOST_TEST(backend->info().driver_profile == "rocm-dev");
  BOOST_TEST(backend->info().cost_profile == "h200");
  BOOST_TEST(backend->info().cost_quality == "measured");
  BOOST_TEST(backend->capabilities().simulated_time);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
