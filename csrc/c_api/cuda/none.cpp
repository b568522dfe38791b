// A build without CUDA: what its functions say.
#include <cstdint>

#include "c_api/checked/status.hpp"

using namespace ozfp4::c_api;

namespace {

ozfp4_status refuse_cuda() {
  return guarded([] { refuse(Fault::no_device, "cuda: this build of libozfp4 has no CUDA (OZFP4_CUDA=ON builds it)"); });
}

}  // namespace

#define OZFP4_NO_CUDA(letter, T, Factor)                                                                                         \
  ozfp4_status ozfp4_cuda_##letter##gemm(int, int, int, int64_t, int64_t, int64_t, Factor, const T*, int64_t, const T*, int64_t, \
                                         Factor, T*, int64_t, void*, int64_t, void*, const ozfp4_options*) {                     \
    return refuse_cuda();                                                                                                        \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gemm_strided_batched(int, int, int, int64_t, int64_t, int64_t, Factor, const T*, int64_t,    \
                                                         int64_t, const T*, int64_t, int64_t, Factor, T*, int64_t, int64_t,      \
                                                         int64_t, void*, int64_t, void*, const ozfp4_options*) {                 \
    return refuse_cuda();                                                                                                        \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gram(int, int, int64_t, int64_t, const T*, int64_t, T*, int64_t, void*, int64_t, void*,      \
                                         const ozfp4_options*) {                                                                 \
    return refuse_cuda();                                                                                                        \
  }

#define OZFP4_NO_CUDA_INTEGERS(name, T, Result)                                                                               \
  ozfp4_status ozfp4_cuda_gemm_##name(int, int, int, int64_t, int64_t, int64_t, Result, const T*, int64_t, const T*, int64_t, \
                                      Result, Result*, int64_t, void*, int64_t, void*, const ozfp4_options*) {                \
    return refuse_cuda();                                                                                                     \
  }

extern "C" {

int ozfp4_has_cuda(void) { return 0; }

ozfp4_status ozfp4_cuda_workspace_size(ozfp4_type, int, int, int, int64_t, int64_t, int64_t, const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_workspace_size_gemm(ozfp4_type, int, int, int, int64_t, int64_t, int64_t, const void*, const void*,
                                            int64_t, const void*, int64_t, const void*, const void*, int64_t,
                                            const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_workspace_size_strided_batched(ozfp4_type, int, int, int, int64_t, int64_t, int64_t, int64_t, int64_t,
                                                       int64_t, const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_workspace_size_gram(ozfp4_type, int, int, int64_t, int64_t, const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_workspace_size_igemm(int, int, int, int64_t, int64_t, int64_t, ozfp4_type, ozfp4_type, ozfp4_type,
                                             const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_workspace_size_gemm_mod(int, int, int, int64_t, int64_t, int64_t, ozfp4_type, ozfp4_type,
                                                const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_igemm(int, int, int, int64_t, int64_t, int64_t, int64_t, ozfp4_type, const void*, int64_t, ozfp4_type,
                              const void*, int64_t, int64_t, ozfp4_type, void*, int64_t, void*, int64_t, void*,
                              const ozfp4_options*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_gemm_mod(int, int, int, int64_t, int64_t, int64_t, ozfp4_type, const void*, int64_t, ozfp4_type,
                                 const void*, int64_t, int64_t, int64_t*, int64_t, void*, int64_t, void*, const ozfp4_options*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_prepared_size(ozfp4_type, ozfp4_side, int, int, int64_t, int64_t, const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_prepare(ozfp4_type, ozfp4_side, int, int, int64_t, int64_t, const void*, int64_t, void*, int64_t, void*,
                                const ozfp4_options*, ozfp4_cuda_prepared**) {
  return refuse_cuda();
}

void ozfp4_cuda_release(ozfp4_cuda_prepared*) {}

ozfp4_status ozfp4_cuda_workspace_size_prepared(int, int, int, int64_t, int64_t, int64_t, const ozfp4_cuda_prepared*,
                                                const ozfp4_cuda_prepared*, const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_gemm_prepared(int, int, int, int64_t, int64_t, int64_t, const void*, const void*, int64_t,
                                      const ozfp4_cuda_prepared*, const void*, int64_t, const ozfp4_cuda_prepared*, const void*,
                                      void*, int64_t, void*, int64_t, void*, const ozfp4_options*) {
  return refuse_cuda();
}

OZFP4_NO_CUDA_INTEGERS(i8i8i32, std::int8_t, std::int32_t)
OZFP4_NO_CUDA_INTEGERS(i32i32i64, std::int32_t, std::int64_t)
OZFP4_NO_CUDA_INTEGERS(i64i64i64, std::int64_t, std::int64_t)
OZFP4_NO_CUDA(d, double, double)
OZFP4_NO_CUDA(s, float, float)
OZFP4_NO_CUDA(z, void, const void*)
OZFP4_NO_CUDA(c, void, const void*)

}  // extern "C"
