# base/version.cpp gets the git revision at build time, so that a run row says which tree made it.
set(REMAPLAB_VERSION_SOURCE "${PROJECT_BINARY_DIR}/version.cpp")
add_custom_target(
  remaplab_git_version
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${REMAPLAB_VERSION_SOURCE}
          -DVERSION=${PROJECT_VERSION} "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DSANITIZE=${REMAPLAB_SANITIZE}"
          -P "${PROJECT_SOURCE_DIR}/cmake/GitVersion.cmake"
  BYPRODUCTS "${REMAPLAB_VERSION_SOURCE}"
  VERBATIM)
