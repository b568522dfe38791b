# The tcgen05 kernels (B200, B300), built with CUTLASS 4.2: headers only, wanted for nothing else.
include(cmake/cutlass.cmake)

# One kernel of the given sources for the given architectures.
function(add_sm100_kernel name launch architectures)
  add_kernel_library(${name} ${launch} "${architectures}" ${ARGN})
  set(held_kernels "${held_kernels}" PARENT_SCOPE)
  target_include_directories(kernel_${name} SYSTEM PRIVATE "${cutlass}")
  # GDC: programmatic dependent launch.
  target_compile_options(kernel_${name} PRIVATE --expt-relaxed-constexpr)
  target_compile_definitions(kernel_${name} PRIVATE CUTLASS_ENABLE_GDC_FOR_SM100=1)
endfunction()

# For those of CMAKE_CUDA_ARCHITECTURES that have tcgen05: E2M1 codes for 100 and 103 (100f serves both); with K = 96
# instructions for 103 alone; bytes for 100 alone (INT8 is a feature of 100a, not of its family).
set(codes ${CMAKE_CUDA_ARCHITECTURES})
list(FILTER codes INCLUDE REGEX "^10[03][af]")
if(codes)
  find_package(Python COMPONENTS Interpreter REQUIRED)
  find_cutlass(cutlass "${Python_EXECUTABLE}" "${CMAKE_BINARY_DIR}/cutlass")
  message(STATUS "ozfp4: CUTLASS in ${cutlass}")
  add_sm100_kernel(tcgen05_fp4 tcgen05::launch_fp4 "${codes}" csrc/cuda/multiply/tcgen05/kernels/fp4.cu)
  set(codes_96 ${codes})
  list(FILTER codes_96 INCLUDE REGEX "^(103|100f)")
  if(codes_96)
    add_sm100_kernel(tcgen05_fp4_96 tcgen05::launch_fp4_96 "103a-real" csrc/cuda/multiply/tcgen05/kernels/fp4_96.cu)
  endif()
  set(bytes ${codes})
  list(FILTER bytes INCLUDE REGEX "^100")
  if(bytes)
    add_sm100_kernel(tcgen05_bytes tcgen05::launch_bytes "100a-real" csrc/cuda/multiply/tcgen05/kernels/u8.cu)
  endif()
endif()
