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
    message(FATAL_ERROR "ozfp4: the kernels for sm_100 and sm_103 need the headers of CUTLASS 4.2, and ${reason}. Run `pip install --no-deps nvidia-cutlass==4.2.0`, set "
            "OZFP4_CUTLASS_INCLUDE, or take 100 and 103 out of CMAKE_CUDA_ARCHITECTURES (${CMAKE_CUDA_ARCHITECTURES}).")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Adds the kernels to `target` for those of CMAKE_CUDA_ARCHITECTURES that have tcgen05: E2M1 codes for 100 and 103 (100f serves
# both), bytes for 100 alone (INT8 is a feature of 100a, not of its family). What is left out is defined as OZFP4_NO_SM100, or
# as OZFP4_NO_SM100_BYTES.
function(add_sm100_kernels target)
  set(codes ${CMAKE_CUDA_ARCHITECTURES})
  list(FILTER codes INCLUDE REGEX "^10[03][af]")
  if(NOT codes)
    target_compile_definitions(${target} PRIVATE OZFP4_NO_SM100)
    return()
  endif()
  set(bytes ${codes})
  list(FILTER bytes INCLUDE REGEX "^100")
  list(TRANSFORM bytes REPLACE "^100.*" "100a-real")
  list(REMOVE_DUPLICATES bytes)
  find_cutlass(cutlass)
  message(STATUS "ozfp4: CUTLASS in ${cutlass}")
  target_sources(${target} PRIVATE csrc/multiply/sm100_gemm.cpp csrc/multiply/sm100_pass.cpp)
  foreach(kind codes bytes)
    if(NOT ${kind})
      target_compile_definitions(${target} PRIVATE OZFP4_NO_SM100_BYTES)
      continue()
    endif()
    set(sources csrc/multiply/sm100_fp4.cu)
    if(kind STREQUAL "bytes")
      set(sources csrc/multiply/sm100_u8.cu csrc/multiply/sm100_s8.cu)
    endif()
    add_library(kernel_sm100_${kind} OBJECT ${sources})
    set_target_properties(kernel_sm100_${kind} PROPERTIES CUDA_ARCHITECTURES "${${kind}}" POSITION_INDEPENDENT_CODE ON
                          CUDA_VISIBILITY_PRESET hidden)
    target_include_directories(kernel_sm100_${kind} PRIVATE csrc)
    target_include_directories(kernel_sm100_${kind} SYSTEM PRIVATE "${cutlass}")
    target_compile_options(kernel_sm100_${kind} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS> --expt-relaxed-constexpr)
    # Programmatic dependent launch.
    target_compile_definitions(kernel_sm100_${kind} PRIVATE CUTLASS_ENABLE_GDC_FOR_SM100=1)
    target_link_libraries(${target} PRIVATE kernel_sm100_${kind})
  endforeach()
endfunction()
