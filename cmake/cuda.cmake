# The extension ozfp4._cuda: kernels for sm_90a, cudart linked statically, no link to torch or libcuda.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a)
endif()
if(NOT CMAKE_CUDA_COMPILER AND OZFP4_NVCC)
  set(CMAKE_CUDA_COMPILER ${OZFP4_NVCC})
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

pybind11_add_module(_cuda MODULE NO_EXTRAS
  csrc/bindings/cuda_module.cpp
  csrc/multiply/cuda_schedule.cpp
  csrc/multiply/gemm_problem.cpp
  csrc/pipeline/cuda_matmul.cpp
  csrc/scale/cuda_scale.cu
  csrc/encode/cuda_encode.cu
  csrc/encode/cuda_scale_encode.cu
  csrc/multiply/sm90_gemm.cu
  csrc/reconstruct/reconstruct_plan.cpp
  csrc/reconstruct/cuda_reconstruct.cu)
target_link_libraries(_cuda PRIVATE ozfp4_cpu CUDA::cudart_static)
set(cuda_warnings -Wall,-Wextra$<$<BOOL:${OZFP4_WERROR}>:,-Werror>)
# NDEBUG in every build type: an assertion inside the main loop makes ptxas serialise the wgmma instructions.
target_compile_options(_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-O3 -DNDEBUG -Xcompiler=${cuda_warnings} $<$<BOOL:${OZFP4_WERROR}>:-Werror=all-warnings>>
  $<$<COMPILE_LANGUAGE:CXX>:-O2 -Wall -Wextra $<$<BOOL:${OZFP4_WERROR}>:-Werror>>)
install(TARGETS _cuda LIBRARY DESTINATION ozfp4)
