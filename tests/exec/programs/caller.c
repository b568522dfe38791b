// 2 times 2 times 2, by whichever BLAS this library was linked to. ONE: the extents.
#include "blas.h"
#ifndef ONE
#define ONE 1
#endif
double call(void) {
  const INT one = ONE;
  const double x = 2, zero = 0;
  double c = 0;
  dgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &zero, &c, &one);
  return c;
}
