# libozfp4, the library that programs in C, C++ and Fortran link to: include/ozfp4.h, csrc/c_api, and of the rest what the Python
# extension is made of. Its version is that of the header; a package for CMake and one for pkg-config come with it, and the module
# for Fortran, which is made of the header.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

file(STRINGS include/ozfp4.h numbers REGEX "^#define OZFP4_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM numbers REPLACE ".* ([0-9]+)$" "\\1")
list(JOIN numbers "." OZFP4_VERSION)
list(GET numbers 0 major)

add_library(ozfp4 SHARED $<TARGET_OBJECTS:ozfp4_c_api>)
target_link_libraries(ozfp4 PRIVATE $<BUILD_INTERFACE:ozfp4_c_api> $<BUILD_INTERFACE:${product_of_build}>)
target_include_directories(ozfp4 INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Only what the map names is exported; the C++ standard library's templates are not.
set(map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/ozfp4.map")
target_link_options(ozfp4 PRIVATE "LINKER:--version-script=${map}" LINKER:--no-undefined LINKER:-z,relro LINKER:-z,now)
set_target_properties(ozfp4 PROPERTIES VERSION ${OZFP4_VERSION} SOVERSION ${major} LINK_DEPENDS "${map}")

if(NOT Python_EXECUTABLE)  # that of the extension, where it is built as well
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
endif()
set(fortran "${CMAKE_CURRENT_BINARY_DIR}/ozfp4.f90")
set(header "${CMAKE_CURRENT_SOURCE_DIR}/include/ozfp4.h")
set(make_fortran "${CMAKE_CURRENT_SOURCE_DIR}/tools/make_fortran_module.py")
add_custom_command(OUTPUT "${fortran}" COMMAND "${Python_EXECUTABLE}" "${make_fortran}" "${header}" "${fortran}"
                   DEPENDS "${header}" "${make_fortran}" VERBATIM)
add_custom_target(ozfp4_fortran DEPENDS "${fortran}")
add_dependencies(ozfp4 ozfp4_fortran)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/ozfp4")
install(TARGETS ozfp4 EXPORT ozfp4 COMPONENT library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT library)
if(build_cuda)
  target_link_options(ozfp4 PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/ozfp4_selftest.map")
  install(TARGETS ozfp4_selftest RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/ozfp4 COMPONENT library)
endif()
install(FILES include/ozfp4.h "${fortran}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT ozfp4 NAMESPACE ozfp4:: FILE ozfp4Targets.cmake DESTINATION ${package} COMPONENT library)
configure_package_config_file(cmake/ozfp4Config.cmake.in ozfp4Config.cmake INSTALL_DESTINATION ${package}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(ozfp4ConfigVersion.cmake VERSION ${OZFP4_VERSION} COMPATIBILITY SameMajorVersion)
# Relative to where it lies, so that an installed tree may be moved.
file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
configure_file(cmake/ozfp4.pc.in ozfp4.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/ozfp4Config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/ozfp4ConfigVersion.cmake"
        DESTINATION ${package} COMPONENT library)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/ozfp4.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
