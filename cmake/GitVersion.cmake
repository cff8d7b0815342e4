# Writes version.cpp only when what it says has changed, so that nothing else rebuilds.
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD OUTPUT_VARIABLE revision
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
set(dirty false)
if(NOT result EQUAL 0)
  set(revision "unknown")
else()
  execute_process(COMMAND git -C "${SOURCE_DIR}" status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(dirty true)
  endif()
endif()
set(text "#include \"base/version.h\"

namespace remaplab {
const BuildInfo& build_info() {
  static const BuildInfo info{\"${VERSION}\", \"${revision}\", ${dirty}, \"${COMPILER}\", \"${BUILD_TYPE}\", \"${SANITIZE}\"};
  return info;
}
}  // namespace remaplab
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
