# nvcc 13 or newer, found before CMake tries the compiler: an older one fails there at a flag that says nothing.
function(check_nvcc nvcc)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
  if(failed OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
    message(FATAL_ERROR "ozfp4: '${nvcc} --version' does not say which nvcc that is: ${failed} ${text}")
  endif()
  if(CMAKE_MATCH_1 VERSION_LESS 13.0)
    message(FATAL_ERROR "ozfp4: the CUDA kernels need nvcc 13 or newer, and ${nvcc} is that of CUDA ${CMAKE_MATCH_1}. Install the "
            "CUDA Toolkit 13 and name its compiler, pip install . -C cmake.define.CMAKE_CUDA_COMPILER=/usr/local/cuda-13.0/bin/nvcc, "
            "or build for the CPU alone, pip install . -C cmake.define.OZFP4_CUDA=OFF.")
  endif()
endfunction()
