// The state of a handle in cuBLAS, and the workspaces that programs set.
#pragma once

#include <cstddef>

#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

// Functions of one libcublas that are called beside those that are interposed; null where it has none of that name.
struct Functions {
  void* library;
  Status (*get_stream)(Handle, Stream*);
  Status (*get_pointer_mode)(Handle, int*);
  Status (*get_version)(Handle, int*);
  Status (*create)(Handle*);
  Status (*set_stream)(Handle, Stream);
  void* gemm[type_count];  // cublas?gemm_v2_64
};

// Those of a library as of dlopen, found once.
const Functions& functions_of(void* library);

// The workspace that the program set for a handle, until it sets its stream; {nullptr, 0} where there is none.
struct Space {
  void* memory = nullptr;
  std::size_t bytes = 0;
};
Space own_workspace(Handle handle);

}  // namespace ozfp4::interpose::cublas
