# The tcgen05 kernels (B200, B300), built with CUTLASS 4.2: headers only, wanted for nothing else. They come from
# OZFP4_CUTLASS_INCLUDE, or from the Python package nvidia-cutlass of the interpreter that runs the build:
#   pip install --no-deps nvidia-cutlass==4.2.0
set(OZFP4_CUTLASS_INCLUDE "" CACHE PATH "Folder that holds cutlass/cutlass.h; empty: ask the Python package nvidia-cutlass")

function(find_cutlass result)
  set(folder "${OZFP4_CUTLASS_INCLUDE}")
  if(NOT folder)
    find_package(Python COMPONENTS Interpreter QUIET)
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c "from importlib.util import find_spec; spec = find_spec('cutlass_library'); print(list(spec.submodule_search_locations)[0] + '/source/include' if spec else '')"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT EXISTS "${folder}/cutlass/cutlass.h")
    if(folder)
      set(reason "'${folder}/cutlass/cutlass.h' is not there")
    else()
      set(reason "${Python_EXECUTABLE} does not have the package nvidia-cutlass")
    endif()
    message(FATAL_ERROR "ozfp4: the kernels for sm_100 and sm_103 need the headers of CUTLASS 4.2, and ${reason}. Run "
            "`pip install --no-deps nvidia-cutlass==4.2.0`, set OZFP4_CUTLASS_INCLUDE, or take 100 and 103 out of "
            "CMAKE_CUDA_ARCHITECTURES (${CMAKE_CUDA_ARCHITECTURES}).")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# One kernel of the given sources for the given architectures.
function(add_sm100_kernel name architectures)
  add_kernel_library(${name} "${architectures}" ${ARGN})
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
  find_cutlass(cutlass)
  message(STATUS "ozfp4: CUTLASS in ${cutlass}")
  target_sources(_cuda PRIVATE csrc/multiply/sm100_gemm.cpp csrc/multiply/sm100_pass.cpp csrc/multiply/sm100_tile_choice.cpp)
  add_sm100_kernel(sm100_fp4 "${codes}" csrc/multiply/sm100_fp4.cu)
  set(codes_96 ${codes})
  list(FILTER codes_96 INCLUDE REGEX "^(103|100f)")
  if(codes_96)
    add_sm100_kernel(sm103_fp4 "103a-real" csrc/multiply/sm103_fp4.cu)
  endif()
  set(bytes ${codes})
  list(FILTER bytes INCLUDE REGEX "^100")
  if(bytes)
    add_sm100_kernel(sm100_bytes "100a-real" csrc/multiply/sm100_u8.cu csrc/multiply/sm100_s8.cu)
  endif()
endif()
