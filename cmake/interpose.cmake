# libozfp4_blas, which `ozfp4 exec` preloads: csrc/interpose and the core, in one file that needs nothing but the C library. Its
# exports are the names of BLAS alone; the C++ library is inside, since a program's own may be another one.
add_library(ozfp4_blas SHARED
  csrc/interpose/call/decide.cpp
  csrc/interpose/cublas/driver.cpp
  csrc/interpose/cublas/gemm.cpp
  csrc/interpose/cublas/serve.cpp
  csrc/interpose/process/fork.cpp
  csrc/interpose/serve/payload.cpp
  csrc/interpose/serve/plain.cpp
  csrc/interpose/serve/serve.cpp
  csrc/interpose/serve/triangle.cpp
  csrc/interpose/symbols/gemm.cpp
  csrc/interpose/process/library.cpp
  csrc/interpose/process/line.cpp
  csrc/interpose/symbols/probes.cpp
  csrc/interpose/symbols/rank_k.cpp
  csrc/interpose/symbols/real.cpp
  csrc/interpose/process/record.cpp
  csrc/interpose/process/settings.cpp
  csrc/interpose/process/report.cpp
  csrc/interpose/verify/entry.cpp
  csrc/interpose/verify/verify.cpp)
compile_together(ozfp4_blas call "/call/decide|/serve/")
compile_together(ozfp4_blas cublas "/cublas/(gemm|serve)\\.")
compile_together(ozfp4_blas process "/process/")
compile_together(ozfp4_blas real "/symbols/real|/verify/")
target_sources(ozfp4_blas PRIVATE $<TARGET_OBJECTS:ozfp4_c_api>)
target_link_libraries(ozfp4_blas PRIVATE ozfp4_c_api ozfp4_product_without_gpu)
target_include_directories(ozfp4_blas PRIVATE csrc include)
target_compile_options(ozfp4_blas PRIVATE -O3 -Wall -Wextra -Wshadow $<$<BOOL:${OZFP4_WERROR}>:-Werror>)
set(blas_map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/ozfp4_blas.map")
target_link_options(ozfp4_blas PRIVATE "LINKER:--version-script=${blas_map}" LINKER:--no-undefined LINKER:-z,relro LINKER:-z,now
                    -static-libstdc++ -static-libgcc $<$<CONFIG:Release>:-s>)
set_target_properties(ozfp4_blas PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS "${blas_map}")
install(TARGETS ozfp4_blas LIBRARY DESTINATION ozfp4 COMPONENT python)
