# Where the headers of CUTLASS are, which the tcgen05 kernels are built with: OZFP4_CUTLASS_INCLUDE; else the package
# nvidia-cutlass of the interpreter that runs the build; else that package's wheel, which pip downloads into the build folder.
# pip, because it knows the user's mirrors, proxies and certificates; the hash, because the code is built into ours.
set(OZFP4_CUTLASS_INCLUDE "" CACHE PATH "Folder that holds cutlass/cutlass.h; empty: the Python package nvidia-cutlass, downloaded if need be")
set(cutlass_wheel "nvidia-cutlass==4.2.0.0 --hash=sha256:f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6")

# The folder, by `python` as interpreter and with downloads into `download`; an error that says what to do where there is none.
function(find_cutlass result python download)
  set(folder "${OZFP4_CUTLASS_INCLUDE}")
  if(folder)
    if(NOT EXISTS "${folder}/cutlass/cutlass.h")
      message(FATAL_ERROR "ozfp4: OZFP4_CUTLASS_INCLUDE: '${folder}/cutlass/cutlass.h' is not there")
    endif()
    set(${result} "${folder}" PARENT_SCOPE)
    return()
  endif()
  execute_process(
    COMMAND "${python}" -c "from importlib.util import find_spec; spec = find_spec('cutlass_library'); print(list(spec.submodule_search_locations)[0] + '/source/include' if spec else '')"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT EXISTS "${folder}/cutlass/cutlass.h")
    set(folder "${download}/cutlass_library/source/include")
  endif()
  if(NOT EXISTS "${folder}/cutlass/cutlass.h")
    download_cutlass("${python}" "${download}")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

function(download_cutlass python download)
  message(STATUS "ozfp4: downloading the headers of CUTLASS 4.2")
  file(WRITE "${download}/requirements.txt" "${cutlass_wheel}\n")
  execute_process(
    COMMAND "${python}" -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: --require-hashes
            --requirement "${download}/requirements.txt" --dest "${download}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  file(GLOB wheel "${download}/nvidia_cutlass-*.whl")
  if(failed OR NOT wheel)
    message(FATAL_ERROR "ozfp4: the kernels for sm_100 and sm_103 need the headers of CUTLASS 4.2, which pip could not download:\n"
            "${text}\nOffline, set OZFP4_CUTLASS_INCLUDE to the `include` folder of CUTLASS 4.2, or take 100 and 103 out of "
            "CMAKE_CUDA_ARCHITECTURES (${CMAKE_CUDA_ARCHITECTURES}).")
  endif()
  file(ARCHIVE_EXTRACT INPUT "${wheel}" DESTINATION "${download}" PATTERNS "cutlass_library/source/include/*")
  file(REMOVE "${wheel}")
endfunction()
