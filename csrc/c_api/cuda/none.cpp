// A build without CUDA: what its functions say.
#include "c_api/checked/status.hpp"

using namespace ozfp4::c_api;

namespace {

ozfp4_status refuse_cuda() {
  return guarded([] { refuse(OZFP4_NO_DEVICE, "cuda: this build of libozfp4 has no CUDA (OZFP4_CUDA=ON builds it)"); });
}

}  // namespace

extern "C" {

int ozfp4_has_cuda(void) { return 0; }

ozfp4_status ozfp4_cuda_workspace_size(ozfp4_type, int, int, int, int64_t, int64_t, int64_t, const ozfp4_options*, int64_t*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_dgemm(int, int, int, int64_t, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t,
                              double, double*, int64_t, void*, int64_t, void*, const ozfp4_options*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_sgemm(int, int, int, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t,
                              float, float*, int64_t, void*, int64_t, void*, const ozfp4_options*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_zgemm(int, int, int, int64_t, int64_t, int64_t, const void*, const void*, int64_t, const void*, int64_t,
                              const void*, void*, int64_t, void*, int64_t, void*, const ozfp4_options*) {
  return refuse_cuda();
}

ozfp4_status ozfp4_cuda_cgemm(int, int, int, int64_t, int64_t, int64_t, const void*, const void*, int64_t, const void*, int64_t,
                              const void*, void*, int64_t, void*, int64_t, void*, const ozfp4_options*) {
  return refuse_cuda();
}

}  // extern "C"
