// A libozfp4_cuda for opens.c, which says that it has no kernels, so that another library is looked for.
#include <time.h>
volatile int is_waiting, is_in_constructor;
int ozfp4_has_cuda(void) {
  const struct timespec moment = {0, 1000000};
  is_waiting = 1;
  for (int i = 0; i < 2000 && !is_in_constructor; ++i) nanosleep(&moment, 0);
  return 0;
}
#define NAMED(name) \
  void name(void) {}
NAMED(ozfp4_last_error)
NAMED(ozfp4_cuda_workspace_size_gemm_strided_batched)
NAMED(ozfp4_cuda_sgemm_strided_batched)
NAMED(ozfp4_cuda_dgemm_strided_batched)
NAMED(ozfp4_cuda_cgemm_strided_batched)
NAMED(ozfp4_cuda_zgemm_strided_batched)
