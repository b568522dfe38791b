# The functions of include/ozfp4.h, as objects: ozfp4_c_api for libozfp4, libozfp4_cuda and checks of what is not exported;
# ozfp4_c_api_cpu, without CUDA, for libozfp4_blas.
function(add_c_api target cuda)
  add_library(${target} OBJECT
    csrc/c_api/checked/arguments.cpp
    csrc/c_api/checked/gemm.cpp
    csrc/c_api/checked/gram.cpp
    csrc/c_api/checked/integers.cpp
    csrc/c_api/checked/options.cpp
    csrc/c_api/checked/prepared/operand.cpp
    csrc/c_api/checked/status.cpp
    csrc/c_api/product/both_parts.cpp
    csrc/c_api/product/complex.cpp
    csrc/c_api/product/exact_cases.cpp
    csrc/c_api/product/integer_plan.cpp
    csrc/c_api/product/real.cpp
    csrc/c_api/product/units.cpp
    csrc/c_api/gemm.cpp
    csrc/c_api/gram.cpp
    csrc/c_api/integers.cpp
    csrc/c_api/library.cpp
    csrc/c_api/plans.cpp
    csrc/c_api/prepared.cpp)
  if(cuda)
    target_sources(${target} PRIVATE
      csrc/c_api/cuda/call.cpp
      csrc/c_api/cuda/choice.cpp
      csrc/c_api/cuda/device/device.cpp
      csrc/c_api/cuda/device/steps.cpp
      csrc/c_api/cuda/entry.cpp
      csrc/c_api/cuda/gemm.cpp
      csrc/c_api/cuda/gram/gram.cpp
      csrc/c_api/cuda/gram/problem.cpp
      csrc/c_api/cuda/integers/call.cpp
      csrc/c_api/cuda/integers/igemm.cpp
      csrc/c_api/cuda/integers/problem.cpp
      csrc/c_api/cuda/integers/trust.cpp
      csrc/c_api/cuda/kept/plans.cpp
      csrc/c_api/cuda/layout.cpp
      csrc/c_api/cuda/prepared/lines.cpp
      csrc/c_api/cuda/prepared/operand.cpp
      csrc/c_api/cuda/prepared/prepared.cpp
      csrc/c_api/cuda/problem.cpp
      csrc/c_api/cuda/product/enqueue.cpp
      csrc/c_api/cuda/product/sum.cpp)
    target_link_libraries(${target} PUBLIC ozfp4_cuda)
  else()
    target_sources(${target} PRIVATE csrc/c_api/cuda/none.cpp)
  endif()
  compile_together(${target} checked "^csrc/c_api/(checked/|[a-z]+\\.cpp)")
  compile_together(${target} product "^csrc/c_api/product/")
  target_link_libraries(${target} PUBLIC ozfp4_cpu ${CMAKE_DL_LIBS})
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
