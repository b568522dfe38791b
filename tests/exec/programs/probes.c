// The probes of libblastrampoline: the width of integers, and how complex and single numbers are returned.
#include <complex.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
static void* found(const char* name, const char* suffix) {
  char text[32];
  snprintf(text, sizeof text, "%s_%s", name, suffix);
  return dlsym(RTLD_DEFAULT, text);
}
#define DOT(type, name) ((type (*)(const void*, const void*, const void*, const void*, const void*))found(name, suffixes[i]))
int main(void) {
  const int64_t many = 0xffffffff00000003, one = 1, two = 2;
  const float x[3] = {1, -3, 2}, y[3] = {4, 5, 6};
  const double complex z[2] = {1 + 2 * I, 3}, w[2] = {I, 2 - I};
  const float complex c[2] = {1 + 2 * I, 3}, d[2] = {I, 2 - I};
  const char* const suffixes[] = {"", "64_"};
  for (int i = 0; i < 2; ++i) {
    const int64_t place = ((int64_t (*)(const void*, const void*, const void*))found("isamax", suffixes[i]))(&many, x, &one);
    const float dot = DOT(float, "sdot")(&two, x, &one, y, &one);
    const float complex of_c = DOT(float complex, "cdotc")(&two, c, &one, d, &one);
    const double complex of_z = DOT(double complex, "zdotc")(&two, z, &one, w, &one);
    printf("%d %g %g%+gi %g%+gi\n", (int)(place & 0xffffffff), dot, crealf(of_c), cimagf(of_c), creal(of_z), cimag(of_z));
  }
  return 0;
}
