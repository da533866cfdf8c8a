# The hand-written adjoint is compiled as the kernels are.
target_compile_options(bench_simulation PRIVATE -O3)
if(TIDEMARK_MARCH)
  target_compile_options(bench_simulation PRIVATE -march=${TIDEMARK_MARCH})
endif()
