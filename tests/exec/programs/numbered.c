// A BLAS whose products are a number, and with WIDTH one whose isamax_ has integers of that type.
#include "blas.h"
void dgemm_(const char* ta, const char* tb, const INT* m, const INT* n, const INT* k, const double* alpha, const double* a,
            const INT* lda, const double* b, const INT* ldb, const double* beta, double* c, const INT* ldc) {
  c[0] = NUMBER;
}
#ifdef WIDTH
WIDTH isamax_(const WIDTH* n, const float* x, const WIDTH* step) {
  WIDTH found = 0;
  for (WIDTH i = 0; i < *n; ++i) found = i == 0 || x[i * *step] > x[(found - 1) * *step] ? i + 1 : found;
  return found;
}
#endif
