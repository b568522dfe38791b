# csrc/cuda, as the archive ozfp4_cuda: cudart linked statically, no link to torch or libcuda. The package's extension
# ozfp4._cuda takes it from libozfp4_cuda beside it, see cmake/package_cuda.cmake.
#
# CMAKE_CUDA_ARCHITECTURES chooses the GPUs, as 80;86-real;90a-real;100f-real;120f-real. Every multiply kernel is
# compiled for those of them that it runs on, see csrc/cuda/multiply/registry.cpp; thin products for 90 and 100; the rest for all.
include(cmake/gpu_targets.cmake)
if(NOT CMAKE_CUDA_ARCHITECTURES)
  find_gpu_targets(CMAKE_CUDA_ARCHITECTURES)
endif()
resolve_gpu_targets(CMAKE_CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
find_program(OZFP4_NVCC nvcc PATHS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
if(NOT CMAKE_CUDA_COMPILER)
  if(NOT "$ENV{CUDACXX}" STREQUAL "")
    set(CMAKE_CUDA_COMPILER $ENV{CUDACXX})
  elseif(OZFP4_NVCC)
    set(CMAKE_CUDA_COMPILER ${OZFP4_NVCC})
  else()
    message(FATAL_ERROR "ozfp4: OZFP4_CUDA is ON, and there is no nvcc. Install the CUDA Toolkit 13, name its compiler with "
            "CMAKE_CUDA_COMPILER, or build for the CPU alone with OZFP4_CUDA=OFF.")
  endif()
endif()
include(cmake/nvcc.cmake)
check_nvcc("${CMAKE_CUDA_COMPILER}")
# Without the architectures, as CMake before 4.1 refuses those with f here, and knows them where targets are compiled.
set(architectures ${CMAKE_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_ARCHITECTURES OFF)
enable_language(CUDA)
set(CMAKE_CUDA_ARCHITECTURES ${architectures})
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

add_library(ozfp4_cuda STATIC
  csrc/cuda/launch.cpp
  csrc/cuda/runtime/device.cpp
  csrc/cuda/multiply/registry.cpp
  csrc/cuda/multiply/tune.cpp
  csrc/cuda/multiply/schedule.cpp
  csrc/cuda/multiply/launch.cpp
  csrc/cuda/multiply/check.cpp
  csrc/cuda/multiply/hopper/cost.cpp
  csrc/cuda/multiply/mma_sync/cost.cpp
  csrc/cuda/multiply/tcgen05/cost.cpp
  csrc/cuda/multiply/tcgen05/pass.cpp
  csrc/cuda/layout/cuda_plan.cpp
  csrc/cuda/layout/turns.cpp
  csrc/cuda/layout/blocks.cpp
  csrc/cuda/layout/ways.cpp
  csrc/cuda/stages.cpp
  csrc/cuda/partial/partial.cpp
  csrc/cuda/prepare.cpp
  csrc/cuda/matmul.cpp
  csrc/cuda/scale/scale.cu
  csrc/cuda/elementwise/matrices.cu
  csrc/cuda/elementwise/planes.cu
  csrc/cuda/direct/direct.cu
  csrc/cuda/encode/encode.cpp
  csrc/cuda/thin/cut.cpp
  csrc/cuda/integers/integer_plan.cpp
  csrc/cuda/integers/reconstruct.cu
  csrc/cuda/reconstruct/reconstruct_plan.cpp
  csrc/cuda/reconstruct/reconstruct.cu
  csrc/cuda/reconstruct/long_reconstruct.cu
  csrc/cuda/repair/repair.cu
  csrc/cuda/standard/standard.cu)
target_link_libraries(ozfp4_cuda PUBLIC ozfp4_cpu CUDA::cudart_static)
set(hidden POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
set_target_properties(ozfp4_cuda PROPERTIES ${hidden})
# The rule for the host's code in sources for nvcc; on a GPU the functions themselves say what is rounded.
set(cuda_rounds_products -Xcompiler=-ffp-contract=off -DOZFP4_ROUNDS_PRODUCTS)
set(cuda_warnings -Wall,-Wextra$<$<BOOL:${OZFP4_WERROR}>:,-Werror>)
# NDEBUG in every build type: an assertion inside the main loop makes ptxas serialise the wgmma instructions.
set(cuda_options
  $<$<COMPILE_LANGUAGE:CUDA>:${cuda_rounds_products} -O3 -DNDEBUG -Xcompiler=${cuda_warnings} $<$<BOOL:${OZFP4_WERROR}>:-Werror=all-warnings>>
  $<$<COMPILE_LANGUAGE:CXX>:-O2 -Wall -Wextra $<$<BOOL:${OZFP4_WERROR}>:-Werror>>)
if(OZFP4_RACECHECK)
  list(APPEND cuda_options -DOZFP4_RACECHECK)
endif()
target_compile_options(ozfp4_cuda PRIVATE ${cuda_options})
share_front_end(ozfp4_cuda)

# Sources of ozfp4_cuda that are compiled for the given architectures.
function(add_cuda_part name architectures)
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${architectures}" ${hidden})
  target_include_directories(${name} PRIVATE csrc)
  target_compile_options(${name} PRIVATE ${cuda_options})
  target_sources(ozfp4_cuda PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()

# The sources that are laid out in one way for 8.0 and in another for 8.6 and 8.9.
add_cuda_part(ozfp4_cuda_shaped "${CMAKE_CUDA_ARCHITECTURES}"
  csrc/cuda/encode/limbs/residues.cu
  csrc/cuda/encode/limbs/tables.cu
  csrc/cuda/encode/scale_encode.cu
  csrc/cuda/tiles/tiles.cu)
# The sources that write E2M1 codes, for the targets whose multiply kernels take them.
set(writes_codes ${CMAKE_CUDA_ARCHITECTURES})
if(NOT OZFP4_STAND_INS)
  list(FILTER writes_codes INCLUDE REGEX "^(100|103|120)[af]")
endif()
if(writes_codes)
  add_cuda_part(ozfp4_cuda_codes "${writes_codes}" csrc/cuda/encode/limbs/codes.cu)
  target_compile_definitions(ozfp4_cuda PRIVATE OZFP4_WRITES_CODES=1)
endif()
# For GPUs with clusters and fast FP64; elsewhere has_thin_kernels finds no code of them. In a build for none of these GPUs the
# kernels are empty (thin/cut.hpp).
set(thin ${CMAKE_CUDA_ARCHITECTURES})
list(FILTER thin INCLUDE REGEX "^(90|100)")
if(NOT thin)
  list(GET CMAKE_CUDA_ARCHITECTURES 0 thin)
endif()
add_cuda_part(ozfp4_cuda_thin "${thin}" csrc/cuda/thin/thin.cu)

# The multiply kernels of this build, a line each, for csrc/cuda/multiply/registry.cpp; a kernel without a line is left out.
set(held_kernels "")

# One multiply kernel for the given architectures: `name` as enum class Kernel has it, its Launch, and the sources that follow.
function(add_kernel_library name launch architectures)
  add_cuda_part(kernel_${name} "${architectures}" ${ARGN})
  list_held_code(targets "${architectures}")
  string(REPLACE ";" ", " targets "${targets}")
  set(held_kernels "${held_kernels}OZFP4_KERNEL(${name}, ${launch}, ${targets})\n" PARENT_SCOPE)
endfunction()

# The same for the chosen architectures that match `pattern`; where there are none the kernel is left out.
function(add_kernel name launch pattern source)
  set(architectures ${CMAKE_CUDA_ARCHITECTURES})
  list(FILTER architectures INCLUDE REGEX "${pattern}")
  if(architectures)
    add_kernel_library(${name} "${launch}" "${architectures}" ${source})
    set(held_kernels "${held_kernels}" PARENT_SCOPE)
  endif()
endfunction()

# One mma.sync kernel: an atom and a loader of csrc/cuda/multiply/mma_sync.
function(add_mma_sync name pattern atom loader)
  add_kernel(${name} "launch_with<mma_sync::start_${name}>" "${pattern}" csrc/cuda/multiply/mma_sync/launch.cu)
  if(TARGET kernel_${name})
    target_compile_definitions(kernel_${name} PRIVATE OZFP4_START=start_${name} OZFP4_ATOM=${atom} OZFP4_LOADER=${loader})
    set(held_kernels "${held_kernels}" PARENT_SCOPE)
  endif()
endfunction()

add_kernel(hopper "launch_with<hopper::start>" "^90a" csrc/cuda/multiply/hopper/launch.cu)
# For every architecture: this kernel alone serves whatever the others do not.
add_mma_sync(mma_copy "." ByteAtom CopyLoader)
share_front_end(kernel_mma_copy)
add_mma_sync(mma_bulk "^(90a|(100|103|120)[af])" ByteAtom BulkLoader)
add_mma_sync(mma_fp4 "^120[af]" Fp4 BulkLoader)
include(cmake/sm100.cmake)
# The kernel for FP4 units with its tensor-core instruction replaced, for tests of all the rest of it on other GPUs.
if(OZFP4_STAND_INS)
  add_mma_sync(stand_in_copy "^(80|86|89|90)a?" StandIn CopyLoader)
  add_mma_sync(stand_in_bulk "^90a" StandIn BulkLoader)
endif()
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/held_kernels/held_kernels.inc" CONTENT "${held_kernels}" @ONLY)
target_include_directories(ozfp4_cuda PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/held_kernels")
