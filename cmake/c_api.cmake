# The functions of include/ozfp4.h, as objects: ozfp4_c_api for libozfp4, libozfp4_cuda and checks of what is not exported;
# ozfp4_c_api_cpu, without CUDA, for libozfp4_blas.
if(build_cuda)
  add_library(ozfp4_product_gpu STATIC
    csrc/product/gpu/choice.cpp
    csrc/product/gpu/device.cpp
    csrc/product/gpu/gram.cpp
    csrc/product/gpu/integers.cpp
    csrc/product/gpu/integers_trust.cpp
    csrc/product/gpu/layout.cpp
    csrc/product/gpu/lines.cpp
    csrc/product/gpu/operand.cpp
    csrc/product/gpu/plans.cpp
    csrc/product/gpu/problem.cpp
    csrc/product/gpu/steps.cpp
    csrc/product/gpu/sum.cpp)
  target_link_libraries(ozfp4_product_gpu PUBLIC ozfp4_product ozfp4_cuda)
  set_target_properties(ozfp4_product_gpu PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                     VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(ozfp4_product_gpu PRIVATE -O2 -Wall -Wextra -Wshadow $<$<BOOL:${OZFP4_WERROR}>:-Werror>)
endif()

function(add_c_api target cuda)
  add_library(${target} OBJECT
    csrc/c_api/checked/arguments.cpp
    csrc/c_api/checked/gemm.cpp
    csrc/c_api/checked/gram.cpp
    csrc/c_api/checked/integers.cpp
    csrc/c_api/checked/options.cpp
    csrc/c_api/checked/prepared.cpp
    csrc/c_api/checked/status.cpp
    csrc/c_api/gemm.cpp
    csrc/c_api/gram.cpp
    csrc/c_api/integers.cpp
    csrc/c_api/library.cpp
    csrc/c_api/plans.cpp
    csrc/c_api/prepared.cpp)
  if(cuda)
    target_sources(${target} PRIVATE
      csrc/c_api/cuda/call.cpp
      csrc/c_api/cuda/enqueue.cpp
      csrc/c_api/cuda/entry.cpp
      csrc/c_api/cuda/gemm.cpp
      csrc/c_api/cuda/gram.cpp
      csrc/c_api/cuda/igemm.cpp
      csrc/c_api/cuda/integers_call.cpp
      csrc/c_api/cuda/prepared.cpp)
    target_link_libraries(${target} PUBLIC ozfp4_product_gpu)
  else()
    target_sources(${target} PRIVATE csrc/c_api/cuda/none.cpp)
    target_link_libraries(${target} PUBLIC ozfp4_product)
  endif()
  compile_together(${target} checked "^csrc/c_api/(checked/|[a-z]+\\.cpp)")
  target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
  target_include_directories(${target} PUBLIC include)
  target_compile_options(${target} PRIVATE -O2 -Wall -Wextra -Wshadow $<$<BOOL:${OZFP4_WERROR}>:-Werror>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON)
endfunction()

if(build_interpose OR NOT build_cuda)
  add_c_api(ozfp4_c_api_cpu OFF)
endif()
if(build_cuda)
  add_c_api(ozfp4_c_api ON)
else()
  add_library(ozfp4_c_api ALIAS ozfp4_c_api_cpu)
endif()
