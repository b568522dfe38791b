/* Products have the same bits whatever floating-point mode the calling thread is in, which stays its own: rounding other than to
 * nearest, subnormal numbers taken and given as 0 (programs built with -ffast-math). The first product of the process, for which
 * threads are started and plans are made, is in such a mode. Prints how many products differ. */
#include <fenv.h>
#include <math.h>
#include <ozfp4.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
enum { MODES = 5 };
static void enter(int mode) {
  static const unsigned bits[MODES] = {0x8040, 0x8000, 0x4000, 0x2000, 0x6000};
  _mm_setcsr(mode < 0 ? 0x1f80 : 0x1f80 | bits[mode]);
}
static unsigned current(void) { return _mm_getcsr() & ~0x3fu; }
#else
enum { MODES = 3 };
static void enter(int mode) {
  static const int rounding[MODES] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  fesetround(mode < 0 ? FE_TONEAREST : rounding[mode]);
}
static unsigned current(void) { return (unsigned)fegetround(); }
#endif

enum { M = 70, N = 50, K = 90 };
static double a[M * K], b[K * N], c[2][M * N];
static float sa[M * K], sb[K * N], sc[2][M * N];

static double next(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return ldexp((double)(int64_t)state, -63);
}

static void fill(int lowest) { /* entries of A down to the smallest subnormal numbers, so that results are such, too */
  for (int i = 0; i < M * K; ++i) a[i] = ldexp(next(), lowest - (int)(next() * 20)), sa[i] = (float)ldexp(next(), lowest / 8);
  for (int i = 0; i < K * N; ++i) b[i] = ldexp(next(), (int)(next() * 20)), sb[i] = (float)ldexp(next(), (int)(next() * 9));
  for (int i = 0; i < M * N; ++i)
    c[0][i] = c[1][i] = ldexp(next(), lowest), sc[0][i] = sc[1][i] = (float)ldexp(next(), lowest / 8);
}

static int run(int which, const ozfp4_options* options, int m, double beta) {
  return ozfp4_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, N, K, 0.75, a, K, b, N, beta, c[which], N, options) !=
             OZFP4_OK ||
         ozfp4_sgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, N, K, 0.75f, sa, K, sb, N, (float)beta, sc[which], N,
                     options) != OZFP4_OK;
}

int main(void) {
  int differing = 0;
  for (int mode = 0; mode < MODES; ++mode) {
    for (int backend = OZFP4_BACKEND_AUTO; backend <= OZFP4_BACKEND_FP64; ++backend) {
      for (int accuracy = OZFP4_ACCURACY_SCALED; accuracy <= OZFP4_ACCURACY_CORRECT; ++accuracy) {
        for (int kind = 0; kind < 8; ++kind) {
          ozfp4_options options = OZFP4_OPTIONS_INIT;
          options.backend = backend, options.accuracy = accuracy;
          fill(kind & 1 ? -1060 : 0);
          enter(mode);
          const unsigned before = current();
          const int failed = run(0, &options, kind & 2 ? M : 3, kind & 4 ? 1 : 0);
          const unsigned after = current();
          enter(-1);
          if (failed || run(1, &options, kind & 2 ? M : 3, kind & 4 ? 1 : 0)) {
            fprintf(stderr, "%s\n", ozfp4_last_error());
            return 1;
          }
          differing += before != after || memcmp(c[0], c[1], sizeof c[0]) != 0 || memcmp(sc[0], sc[1], sizeof sc[0]) != 0;
        }
      }
    }
  }
  printf("%d differ\n", differing);
  return 0;
}
