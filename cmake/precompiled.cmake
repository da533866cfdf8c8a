# The headers that nearly every file includes, compiled once for each set of flags and shared by the targets that have it.
# Standard and third-party ones only: an edit of ours must not recompile what does not include it.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/precompiled.cpp" CONTENT "// Owns precompiled headers.\n")

function(tidemark_precompiled target)
  if(NOT TIDEMARK_PRECOMPILED)
    return()
  endif()
  cmake_parse_arguments(P "" "" "FLAGS;LIBRARIES;HEADERS" ${ARGN})
  string(MAKE_C_IDENTIFIER "precompiled${P_FLAGS}${P_LIBRARIES}" owner)
  if(NOT TARGET ${owner})
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/precompiled.cpp")
    # -fPIC or -fPIE comes with the flags: it must be that of the targets that share this.
    set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_link_libraries(${owner} PRIVATE tidemark_settings ${P_LIBRARIES})
    target_compile_options(${owner} PRIVATE ${P_FLAGS})
    target_precompile_headers(${owner} PRIVATE <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric>
      <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> ${P_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The first for ccache; the rest are false reports of GCC 12 inside std::string (its bugs 105329 and 105651), which it keeps to itself where
    # the header is read as text.
    target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
  endif()
endfunction()
