// How often memory is asked for by products of the same shapes from the same places, when they have been made before.
#include <stdio.h>
#include <stdlib.h>

#include "blas.h"
extern void* __libc_malloc(size_t);
extern void* __libc_memalign(size_t, size_t);
static long count;
void* malloc(size_t bytes) {
  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  return __libc_malloc(bytes);
}
void* aligned_alloc(size_t at, size_t bytes) {
  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  return __libc_memalign(at, bytes);
}
static double a[8192], c[8192];
__attribute__((noinline)) static void multiply(int times) {
  const double one[2] = {1, 0}, zero[2] = {0, 0};
  for (int i = 0; i < times; ++i) {
    const int n = i % 3 == 0 ? 4 : i % 3 == 1 ? 64 : 16, wide = 60, narrow = 5;
    square("T", n, a, c);
    dgemm_("N", "T", &wide, &narrow, &n, one, a, &wide, a, &narrow, one, c, &wide);
    zgemm_("N", "C", &narrow, &narrow, &n, one, a, &narrow, a, &narrow, zero, c, &narrow);
    dsyrk_("L", "N", &n, &n, one, a, &n, zero, c, &n);
  }
}
int main(void) {
  for (int i = 0; i < 8192; ++i) a[i] = 1.0 / (i + 3);
  multiply(300);
  const long before = count;
  multiply(600);
  printf("%ld", count - before);
  return 0;
}
