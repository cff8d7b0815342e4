# Script behind remaplab_embed(): writes each file as a raw string literal. Text files only.
set(body "#include \"${NAME}.h\"\n\nnamespace remaplab {\nnamespace {\nconstexpr EmbeddedFile kFiles[] = {\n")
foreach(file ${FILES})
  get_filename_component(stem "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND body "    {\"${stem}\", R\"~embedded~(${text})~embedded~\"},\n")
endforeach()
string(APPEND body "};\n}  // namespace\n\n"
                   "std::span<const EmbeddedFile> ${NAME}() { return kFiles; }\n}  // namespace remaplab\n")
file(WRITE "${SOURCE}" "${body}")
file(WRITE "${HEADER}" "#pragma once\n\n#include <span>\n\n#include \"base/embedded_file.h\"\n\nnamespace remaplab {\n"
                       "std::span<const EmbeddedFile> ${NAME}();\n}\n")
