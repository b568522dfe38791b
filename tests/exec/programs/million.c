// A million calls of cuBLAS: allocations of the device that are not given back, and bytes of the host that are kept.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
extern int cublasCreate_v2(void**);
extern int cublasDgemm_v2(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*,
                          double*, int);
extern int cuStreamSynchronize(void*);  // a program of CUDA has loaded the driver
extern long fake_allocated(void);
extern long fake_released(void);
static void* handle;
static void call(void) {
  static double a[4] = {1, 2, 3, 4}, c[4];
  static const double one = 1, zero = 0;
  if (cublasDgemm_v2(handle, 0, 0, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2) != 0) exit(1);
}
int main(void) {
  cuStreamSynchronize(NULL);
  if (cublasCreate_v2(&handle) != 0) return 2;
  for (int i = 0; i < 1000; ++i) call();
  const struct mallinfo2 memory = mallinfo2();
  for (int i = 0; i < 1000000; ++i) call();
  printf("%ld %zd", fake_allocated() - fake_released(), (ssize_t)(mallinfo2().uordblks - memory.uordblks));
  return 0;
}
