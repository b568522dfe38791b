# The stand-alone checks of what Python cannot see, run by CTest: each a program that prints "N passed, N failed". Those with the
# label `host` need no GPU; those with `gpu` are skipped where there is none.
enable_testing()
add_custom_target(checks)

# add_check(SOURCE LIBRARY [RUN...]): tests/SOURCE as a program. A run is its label, and the program's arguments after a space;
# one without arguments and with the label `host` where none is given. Its name is the path, and the arguments.
function(add_check source library)
  string(REGEX REPLACE "_check\\..*$" "" name "${source}")
  string(REPLACE "/" "_" target "${name}_check")
  add_executable(${target} tests/${source})
  add_dependencies(checks ${target})
  target_include_directories(${target} PRIVATE tests)
  target_link_libraries(${target} PRIVATE ${library})
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-O3 -Wall -Wextra -Wshadow $<$<BOOL:${OZFP4_WERROR}>:-Werror>>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra$<$<BOOL:${OZFP4_WERROR}>:,-Werror>>)
  if(NOT ARGN)
    set(ARGN host)
  endif()
  foreach(run ${ARGN})
    separate_arguments(run)
    list(POP_FRONT run label)
    string(REPLACE ";" " " test "${name};${run}")
    add_test(NAME ${test} COMMAND ${target} ${run})
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 300)
    if(label STREQUAL "gpu")  # one at a time
      set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu)
    endif()
  endforeach()
endfunction()

add_check(cpu/runtime/parallel_check.cpp ozfp4_cpu)
add_check(cpu/workspace_check.cpp ozfp4_cpu)
add_check(plan/prefix_check.cpp ozfp4_cpu)
add_check(plan/schedule_check.cpp ozfp4_cpu)
if(NOT TARGET ozfp4_cuda)
  return()
endif()

add_check(cuda/blocks_check.cpp ozfp4_cuda)
add_check(cuda/refusal_check.cpp ozfp4_cuda)
add_check(cuda/stages_check.cpp ozfp4_cuda gpu)
add_check(cuda/multiply/problem_check.cpp ozfp4_cuda)
add_check(cuda/multiply/units_check.cpp ozfp4_cuda)
add_check(cuda/multiply/tcgen05/pass_check.cpp ozfp4_cuda)
add_check(cuda/multiply/hopper/turns_check.cu ozfp4_cuda)
add_check(cuda/multiply/fold_check.cu ozfp4_cuda gpu)
add_check(cuda/multiply/forced_check.cpp ozfp4_cuda)
add_check(cuda/multiply/gemm_check.cpp ozfp4_cuda "host host" "gpu gpu")
add_check(cuda/encode/scale_encode_check.cpp ozfp4_cuda "host host" "gpu gpu")
add_check(cuda/encode/accuracy_check.cpp ozfp4_cuda "host host" "gpu gpu")
add_check(cuda/reconstruct/reconstruct_check.cpp ozfp4_cuda "host host" "gpu gpu")
add_check(cuda/reconstruct/segment_check.cu ozfp4_cuda)
add_check(cuda/repair_check.cpp ozfp4_cuda gpu)
# Plays the CUDA runtime itself.
add_check(cuda/launch_check.cpp "$<TARGET_FILE:ozfp4_cuda>")
add_dependencies(cuda_launch_check ozfp4_cuda)
target_include_directories(cuda_launch_check PRIVATE csrc ${CUDAToolkit_INCLUDE_DIRS})
