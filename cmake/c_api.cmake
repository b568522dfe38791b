# The functions of include/ozfp4.h, as objects for libozfp4, libozfp4_cuda and libozfp4_blas. CUDA functions call
# csrc/product/gpu/enqueue.hpp: with kernels in ozfp4_product_gpu, which libozfp4_blas is without.
add_library(ozfp4_product_without_gpu STATIC csrc/product/gpu/none.cpp)
target_link_libraries(ozfp4_product_without_gpu PUBLIC ozfp4_product)
if(build_cuda)
  add_library(ozfp4_product_gpu STATIC
    csrc/product/gpu/device.cpp
    csrc/product/gpu/enqueue.cpp
    csrc/product/gpu/findings.cpp
    csrc/product/gpu/gram.cpp
    csrc/product/gpu/integers.cpp
    csrc/product/gpu/layout.cpp
    csrc/product/gpu/numbering.cpp
    csrc/product/gpu/operand.cpp
    csrc/product/gpu/problem.cpp
    csrc/product/gpu/settings.cpp
    csrc/product/gpu/memory.cpp
    csrc/product/gpu/sum.cpp
    csrc/product/trust/gpu.cpp)
  target_link_libraries(ozfp4_product_gpu PUBLIC ozfp4_product ozfp4_cuda)
  # Tests kernels for a program that has never run them, beside the library that holds them.
  add_executable(ozfp4_selftest csrc/product/trust/program.cpp)
  target_link_options(ozfp4_selftest PRIVATE LINKER:--as-needed)
  target_link_libraries(ozfp4_selftest PRIVATE ${CMAKE_DL_LIBS})
  target_compile_options(ozfp4_selftest PRIVATE -O2 -Wall -Wextra -Wshadow $<$<BOOL:${OZFP4_WERROR}>:-Werror>)
endif()

add_library(ozfp4_c_api OBJECT
  csrc/c_api/arguments.cpp
  csrc/c_api/gemm.cpp
  csrc/c_api/gram.cpp
  csrc/c_api/integers.cpp
  csrc/c_api/library.cpp
  csrc/c_api/options.cpp
  csrc/c_api/plans.cpp
  csrc/c_api/prepared.cpp)
target_link_libraries(ozfp4_c_api PUBLIC ozfp4_product ${CMAKE_DL_LIBS})
target_include_directories(ozfp4_c_api PUBLIC include)
compile_together(ozfp4_c_api c_api "^csrc/c_api/")

foreach(target ozfp4_product_without_gpu ozfp4_product_gpu ozfp4_c_api)
  if(TARGET ${target})
    target_compile_options(${target} PRIVATE -O2 -Wall -Wextra -Wshadow $<$<BOOL:${OZFP4_WERROR}>:-Werror>)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON)
  endif()
endforeach()
if(build_cuda)
  set(product_of_build ozfp4_product_gpu)
else()
  set(product_of_build ozfp4_product_without_gpu)
endif()
