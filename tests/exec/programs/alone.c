// Asks whether there is a BLAS, by weak references and by dlsym, and multiplies with it. FACTOR: alpha of a second part; REFUSED:
// whether the last call has a leading dimension that BLAS refuses.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

#include "blas.h"
#pragma weak cblas_dgemm
#pragma weak cblas_zgemm
#pragma weak cblas_zherk
typedef void (*Fortran)(const char*, const char*, const long*, const long*, const long*, const double*, const double*,
                        const long*, const double*, const long*, const double*, double*, const long*);
static void print(const double* numbers, int count) {
  for (int i = 0; i < count; ++i) printf("%g ", numbers[i]);
  printf("\n");
}
int main(void) {
  if (cblas_dgemm == NULL) return 1;
  const double a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, minus = -1, one = 1;
#ifndef FACTOR
  const double odd[4] = {NAN, 2, 3, 4};
  double c[4] = {1, 1, 1, 1}, d[4] = {1, 2, 3, 4};
  const long two = 2, few = 1;
  for (int i = 0; i < 3; ++i) cblas_dgemm(101, 111, 111, 2, 2, 2, 1, a, 2, a + 4, 2, 0, c, 2);
  Fortran found = (Fortran)dlsym(RTLD_DEFAULT, "dgemm_64_");
  if (found == NULL) return 2;
  found("T", "T", &two, &two, &two, &minus, a, &two, a + 4, &two, &one, c, &two);
  print(c, 4);
  cblas_dgemm(101, 111, 111, 2, 2, 2, 0, odd, 2, odd, 2, 2, d, 2);  // alpha 0 reads neither A nor B
  cblas_dgemm(101, 111, 111, 2, 2, 0, 1, odd, 2, odd, 2, 3, d, 2);
  cblas_dgemm(101, 111, 111, 0, 2, 2, 1, odd, 2, odd, 2, 3, d, 2);
  cblas_dgemm(101, 111, 111, 2, 1, 1, 1, odd + 1, 1, odd + 1, 1, 1, d, 2);
  print(d, 4);
  if (REFUSED) found("T", "T", &two, &two, &two, &minus, a, &two, a + 4, &two, &one, c, &few);
#else
  const double factor[2] = {FACTOR, 1}, zero[2] = {0, 0};
  double c[4] = {1, 2, 3, 4}, z[8] = {1, 1, 1, 1, 1, 1, 1, 1}, h[8] = {NAN, NAN, 9, 9, NAN, NAN, NAN, NAN};
  cblas_dgemm(101, 111, 112, 2, 2, 2, FACTOR, a, 2, a + 4, 2, 2, c, 2);
  cblas_zgemm(102, 113, 111, 2, 2, 2, factor, a, 2, a, 2, zero, z, 2);
  cblas_zherk(101, 122, 111, 2, 2, FACTOR, a, 2, 0, h, 2);
  print(c, 4), print(z, 8), print(h, 8);
#endif
  return 0;
}
