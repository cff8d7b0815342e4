// Boost.Test's main; the module's name comes from tests/CMakeLists.txt.
#define BOOST_TEST_MODULE REMAPLAB_TEST_MODULE
#include <boost/test/unit_test.hpp>
