# Stand-alone timings of the CUDA kernels, which benchmarks/*.cu describe: benchmark_<name>.
add_executable(benchmark_power benchmarks/power.cu)
build_for_one_architecture(benchmark_power)
target_include_directories(benchmark_power PRIVATE tests)
target_link_libraries(benchmark_power PRIVATE ozfp4_cuda ${CMAKE_DL_LIBS})
target_compile_options(benchmark_power PRIVATE ${cuda_options})
