// 2 times 2 times 2 by cuBLAS.
extern int cublasCreate_v2(void**);
extern int cublasDgemm_v2(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*,
                          double*, int);
double call(void) {
  const double two = 2, zero = 0;
  double c = 0;
  void* handle;
  if (cublasCreate_v2(&handle) != 0 || cublasDgemm_v2(handle, 0, 0, 1, 1, 1, &two, &two, 1, &two, 1, &zero, &c, 1) != 0) return 0;
  return c;
}
