# remaplab_library(NAME SOURCES ... LINKS ... [PRIVATE_LINKS ...]): one folder, one static library.
function(remaplab_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC remaplab_options ${ARG_LINKS} PRIVATE fmt::fmt ${ARG_PRIVATE_LINKS})
endfunction()

# remaplab_embed(TARGET NAME FILES...): makes the files' bytes part of the binary, so that one file is the whole
# program. Generates <NAME>.h with `std::span<const remaplab::EmbeddedFile> NAME()`; see base/embedded_file.h.
function(remaplab_embed target name)
  set(header "${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.h")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cpp")
  set(files "")
  foreach(file ${ARGN})
    list(APPEND files "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  endforeach()
  add_custom_command(
    OUTPUT "${header}" "${source}"
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DHEADER=${header} -DSOURCE=${source} "-DFILES=${files}"
            -P "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${source}" "${header}")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/embedded")
endfunction()
