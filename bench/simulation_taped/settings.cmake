# As bench_tape is compiled.
target_include_directories(bench_simulation_taped PRIVATE "${CMAKE_SOURCE_DIR}")
target_compile_options(bench_simulation_taped PRIVATE -O3)
if(TIDEMARK_MARCH)
  target_compile_options(bench_simulation_taped PRIVATE -march=${TIDEMARK_MARCH})
endif()
target_sources(bench_simulation_taped PRIVATE "${CMAKE_SOURCE_DIR}/bench/simulation/hand.cpp")
