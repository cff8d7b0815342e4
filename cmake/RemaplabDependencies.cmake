# Every dependency is a Debian package (HACKING.md says why each is here); nothing is downloaded.
if(REMAPLAB_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${CMAKE_FIND_LIBRARY_SUFFIXES})
  set(Boost_USE_STATIC_LIBS ON)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(fmt 9 REQUIRED)
find_package(simdjson 3 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(ZLIB REQUIRED)

# zstd and xxHash ship no CMake config that is stable between Debian releases; their names are.
function(remaplab_find_library target header library)
  find_path(${target}_INCLUDE ${header} REQUIRED)
  find_library(${target}_LIBRARY ${library} REQUIRED)
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${target}_LIBRARY}"
                                             INTERFACE_INCLUDE_DIRECTORIES "${${target}_INCLUDE}")
endfunction()
remaplab_find_library(remaplab::zstd zstd.h zstd)
remaplab_find_library(remaplab::xxhash xxhash.h xxhash)
find_path(REMAPLAB_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
