# The GPUs to build for, as CMAKE_CUDA_ARCHITECTURES names them, and which GPUs code for them runs on. Nothing here needs nvcc.
find_program(OZFP4_NVIDIA_SMI nvidia-smi)

# All that there are kernels for: 80 with PTX, which the driver compiles for generations that are unknown here; code for 8.6 runs
# on 8.9 as well, and that for 8.9 would be the same.
set(all_gpu_targets 80 86-real 90a-real 100f-real 120f-real)

# The targets of this machine; none where it shows none.
function(find_machine_targets result)
  set(capabilities "")
  if(OZFP4_NVIDIA_SMI)
    execute_process(COMMAND "${OZFP4_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE capabilities ERROR_QUIET)
  endif()
  string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
  set(targets "")
  foreach(capability ${capabilities})
    # Machine code runs on later capabilities of its generation, with f on all of its family, with a on its own alone.
    if(capability VERSION_GREATER_EQUAL 12.0 AND capability VERSION_LESS 13.0)
      list(APPEND targets 120f-real)
    elseif(capability VERSION_GREATER_EQUAL 10.0 AND capability VERSION_LESS 11.0)
      list(APPEND targets 100f-real)
    elseif(capability VERSION_EQUAL 9.0)
      list(APPEND targets 90a-real)
    elseif(capability VERSION_GREATER_EQUAL 8.6 AND capability VERSION_LESS 9.0)
      list(APPEND targets 86-real)
    elseif(capability VERSION_GREATER_EQUAL 8.0)
      list(APPEND targets 80)
    else()
      message(WARNING "ozfp4: compute capability ${capability} is below 8.0, for which there are no kernels")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES targets)
  set(${result} "${targets}" PARENT_SCOPE)
endfunction()

# Where CMAKE_CUDA_ARCHITECTURES does not say: those of this machine; where it shows none, all whose kernels need nothing but
# nvcc (those for 100f need CUTLASS), which takes some minutes.
function(find_gpu_targets result)
  find_machine_targets(targets)
  if(NOT targets)
    set(targets ${all_gpu_targets})
    list(REMOVE_ITEM targets 100f-real)
  endif()
  message(STATUS "ozfp4: kernels for ${targets}")
  set(${result} "${targets}" PARENT_SCOPE)
endfunction()

# The list without `native`, which stands for the GPUs of this machine; `all` alone is all_gpu_targets. Fails where an entry names
# no GPU that there is a kernel for: a build would hold nothing for it, and nobody would know before the first product.
function(resolve_gpu_targets result architectures)
  if(architectures STREQUAL "all")
    set(architectures ${all_gpu_targets})
  endif()
  if("native" IN_LIST architectures)
    find_machine_targets(own)
    if(NOT own)
      list(JOIN all_gpu_targets ", " names)
      message(FATAL_ERROR "ozfp4: CMAKE_CUDA_ARCHITECTURES is 'native', and nvidia-smi shows no GPU of compute capability 8.0 or "
              "later on this machine. Name the GPUs: ${names}.")
    endif()
    list(TRANSFORM architectures REPLACE "^native$" "${own}")
    list(REMOVE_DUPLICATES architectures)
  endif()
  foreach(architecture ${architectures})
    if(NOT architecture MATCHES "^(80|86|89|90a?|(100|103|120)[af]?)(-real|-virtual)?$")
      message(FATAL_ERROR "ozfp4: CMAKE_CUDA_ARCHITECTURES names '${architecture}', for which there are no kernels. There are for 80, "
              "86, 89, 90a, 100f, 103f and 120f, each alone, with -real or with -virtual; machine code runs on later GPUs of its "
              "generation as well (86 on 8.9), PTX (80 or 80-virtual) on all later ones. `all` alone stands for all of them.")
    endif()
  endforeach()
  set(${result} "${architectures}" PARENT_SCOPE)
endfunction()

# Which GPUs code for the architectures runs on, as csrc/cuda/multiply/registry.cpp reads it. For each architecture: its
# capability, 10 * major + minor, where machine code of it is there, for its generation from that one on; negative where code with
# the features of one architecture (90a) runs on that one only; 1000 more where its PTX is there, for all later GPUs. PTX with
# features of an architecture or a family (90a, 120f) runs where machine code with them does.
function(list_held_code result architectures)
  set(held "")
  foreach(architecture ${architectures})
    string(REGEX MATCH "^([0-9]+)([af]?)(-real|-virtual)?$" ignored "${architecture}")
    set(capability ${CMAKE_MATCH_1})
    set(feature "${CMAKE_MATCH_2}")
    set(kind "${CMAKE_MATCH_3}")
    if(feature STREQUAL "a")
      list(APPEND held -${capability})
    elseif(feature STREQUAL "f")
      list(APPEND held ${capability})
    else()
      if(NOT kind STREQUAL "-virtual")
        list(APPEND held ${capability})
      endif()
      if(NOT kind STREQUAL "-real")
        math(EXPR ptx "1000 + ${capability}")
        list(APPEND held ${ptx})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES held)
  set(${result} "${held}" PARENT_SCOPE)
endfunction()

# Compiles the target's code for 8.6 from its PTX for 8.0, where it has both. nvcc's front end, which takes more than half of the
# time, makes the same PTX for both where no source tells one from the other by __CUDA_ARCH__, as
# tests/cmake/test_shared_front_end.py makes sure; then the machine code is the same to the bit.
function(share_front_end target)
  get_target_property(architectures ${target} CUDA_ARCHITECTURES)
  if(("80" IN_LIST architectures OR "80-real" IN_LIST architectures) AND "86-real" IN_LIST architectures)
    list(REMOVE_ITEM architectures 86-real)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_80,code=sm_86>")
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
  endif()
endfunction()

# For what is built beside the kernels, and needs to run and no more: one architecture, where the PTX of 80 is wanted anyway.
function(build_for_one_architecture target)
  if("80" IN_LIST CMAKE_CUDA_ARCHITECTURES)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES 80)
  endif()
endfunction()
