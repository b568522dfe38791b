# libozfp4_blas, which `ozfp4 exec` preloads: csrc/exec and the core, in one file that needs nothing but the C library. Its
# exports are the names of BLAS alone; the C++ library is inside, since a program's own may be another one.
add_library(ozfp4_blas SHARED
  csrc/exec/cpu_names.cpp
  csrc/exec/cublas.cpp
  csrc/exec/decide.cpp
  csrc/exec/driver.cpp
  csrc/exec/library.cpp
  csrc/exec/probes.cpp
  csrc/exec/real_routine.cpp
  csrc/exec/record.cpp
  csrc/exec/report.cpp
  csrc/exec/serve_cpu.cpp
  csrc/exec/settings.cpp
  csrc/exec/verify.cpp)
compile_together(ozfp4_blas names "/exec/(cpu_names|decide|probes|real_routine|serve_cpu)\\.")
compile_together(ozfp4_blas gpu "/exec/(cublas|driver)\\.")
compile_together(ozfp4_blas process "/exec/(library|record|report|settings)\\.")
round_products(csrc/exec/verify.cpp)
target_sources(ozfp4_blas PRIVATE $<TARGET_OBJECTS:ozfp4_c_api>)
target_link_libraries(ozfp4_blas PRIVATE ozfp4_c_api ozfp4_product_without_gpu)
target_include_directories(ozfp4_blas PRIVATE csrc include)
target_compile_options(ozfp4_blas PRIVATE -O3 -Wall -Wextra -Wshadow $<$<BOOL:${OZFP4_WERROR}>:-Werror>)
set(blas_map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/ozfp4_blas.map")
target_link_options(ozfp4_blas PRIVATE "LINKER:--version-script=${blas_map}" LINKER:--no-undefined LINKER:-z,relro LINKER:-z,now
                    -static-libstdc++ -static-libgcc $<$<CONFIG:Release>:-s>)
set_target_properties(ozfp4_blas PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS "${blas_map}")
install(TARGETS ozfp4_blas LIBRARY DESTINATION ozfp4 COMPONENT python)
