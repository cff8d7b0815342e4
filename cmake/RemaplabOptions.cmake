# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(REMAPLAB_CCACHE ccache)
if(REMAPLAB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${REMAPLAB_CCACHE}")
endif()

add_library(remaplab_options INTERFACE)
target_include_directories(remaplab_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(remaplab_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                 -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(remaplab_options INTERFACE -Wno-restrict) # false alarms on "literal" + string at -O2 and up
endif()
if(REMAPLAB_DEVELOPER)
  target_compile_options(remaplab_options INTERFACE -Werror)
endif()
# Simulated time is integer arithmetic on purpose; this keeps the few floating-point fits the same on every compiler.
target_compile_options(remaplab_options INTERFACE -ffp-contract=off)

if(REMAPLAB_SANITIZE)
  target_compile_options(remaplab_options INTERFACE -fsanitize=${REMAPLAB_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(remaplab_options INTERFACE -fsanitize=${REMAPLAB_SANITIZE})
  if(REMAPLAB_SANITIZE MATCHES "undefined")
    target_compile_options(remaplab_options INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
