# The stand-alone timings of the CUDA kernels, which benchmarks/*.cu describe: benchmark_<name>.
add_custom_target(benchmarks)
foreach(name multiply power reconstruct scale_encode)
  add_executable(benchmark_${name} benchmarks/${name}.cu)
  add_dependencies(benchmarks benchmark_${name})
  target_include_directories(benchmark_${name} PRIVATE tests)
  target_link_libraries(benchmark_${name} PRIVATE ozfp4_cuda ${CMAKE_DL_LIBS})
  target_compile_options(benchmark_${name} PRIVATE ${cuda_options})
endforeach()
