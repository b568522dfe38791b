# The package's kernels, once: libozfp4_cuda lies beside the extension ozfp4._cuda, which is linked to it, and beside
# libozfp4_blas, which opens it in programs that call cuBLAS, in any language.
add_library(ozfp4_package_cuda SHARED $<TARGET_OBJECTS:ozfp4_c_api>)
target_link_libraries(ozfp4_package_cuda PRIVATE ozfp4_c_api ozfp4_product_gpu $<LINK_LIBRARY:WHOLE_ARCHIVE,ozfp4_cuda>)
set(package_map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/ozfp4_cuda.map")
target_link_options(ozfp4_package_cuda PRIVATE "LINKER:--version-script=${package_map}" LINKER:--no-undefined LINKER:-z,relro
                    LINKER:-z,now LINKER:-Bsymbolic)
# CMake before 4 takes no library both with that feature and, from the archive of the product, without it.
set_target_properties(ozfp4_package_cuda PROPERTIES LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,ozfp4_cuda")
# Without a soname: where a process has those of two installations, each extension gets the one that lies beside it.
set_target_properties(ozfp4_package_cuda PROPERTIES OUTPUT_NAME ozfp4_cuda NO_SONAME ON LINK_DEPENDS "${package_map}")
install(TARGETS ozfp4_package_cuda LIBRARY DESTINATION ozfp4 COMPONENT python)
install(TARGETS ozfp4_selftest RUNTIME DESTINATION ozfp4 COMPONENT python)

pybind11_add_module(_cuda MODULE NO_EXTRAS
  csrc/bindings/cuda/module.cpp
  csrc/bindings/cuda/kernels.cpp
  csrc/bindings/cuda/partial.cpp
  csrc/bindings/cuda/product.cpp
  csrc/bindings/cuda/tensors.cpp
  csrc/bindings/product/options.cpp)
# By its name: without a soname, the path that it is linked by would be what is looked for.
add_dependencies(_cuda ozfp4_package_cuda)
target_link_libraries(_cuda PRIVATE ozfp4_cpu "-L$<TARGET_FILE_DIR:ozfp4_package_cuda>"
                                    "-l:$<TARGET_FILE_NAME:ozfp4_package_cuda>")
# -z now: what the library does not export is an error when the extension is loaded. The other: nothing but the folder of the
# extension is searched for it, LD_LIBRARY_PATH neither.
target_link_options(_cuda PRIVATE LINKER:-z,now LINKER:--disable-new-dtags)
target_include_directories(_cuda PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_compile_options(_cuda PRIVATE ${cuda_options} ${of_pybind11})
compile_together(_cuda bindings "^csrc/bindings/cuda/")
precompile_headers(_cuda PRIVATE <pybind11/numpy.h> <pybind11/pybind11.h> <pybind11/stl.h>)
set_target_properties(_cuda PROPERTIES LINK_DEPENDS "$<TARGET_FILE:ozfp4_package_cuda>"
                                       BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
install(TARGETS _cuda LIBRARY DESTINATION ozfp4 COMPONENT python)
