// BLAS as programs in C call it; INT is the type of its integers.
#ifndef INT
#define INT int
#endif
extern void dgemm_(const char*, const char*, const INT*, const INT*, const INT*, const double*, const double*, const INT*,
                   const double*, const INT*, const double*, double*, const INT*);
extern void zgemm_(const char*, const char*, const INT*, const INT*, const INT*, const double*, const double*, const INT*,
                   const double*, const INT*, const double*, double*, const INT*);
extern void dsyrk_(const char*, const char*, const INT*, const INT*, const double*, const double*, const INT*, const double*,
                   double*, const INT*);
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern void cblas_zgemm(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
extern void cblas_zherk(int, int, int, int, int, double, const void*, int, double, void*, int);

// A product of one size from two column-major matrices, as most of the programs here make it.
static inline void square(const char* trans, INT n, const double* a, double* c) {
  const double one = 1, zero = 0;
  dgemm_("N", trans, &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
}
