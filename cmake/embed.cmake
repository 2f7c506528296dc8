# Script mode: writes OUT, a C++ table of the texts in FILES (paths relative to ROOT).
set(body "")
foreach(file ${FILES})
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(READ ${file} text)
  # A string literal may be at most 64 KiB on some compilers: cut into pieces that the compiler joins again.
  string(LENGTH "${text}" length)
  set(literal "")
  set(start 0)
  while(start LESS length)
    string(SUBSTRING "${text}" ${start} 12000 piece)
    string(APPEND literal "R\"__wt__(${piece})__wt__\"\n")
    math(EXPR start "${start} + 12000")
  endwhile()
  string(APPEND body "    {\"${name}\",\n${literal}},\n")
endforeach()
file(WRITE ${OUT} "// Made by cmake/embed.cmake. Do not edit.
#include \"templates/embedded.h\"
namespace wavetune::templates {
const std::map<std::string, std::string_view, std::less<>>& embedded_sources() {
  static const std::map<std::string, std::string_view, std::less<>> table = {
${body}  };
  return table;
}
}  // namespace wavetune::templates
")
