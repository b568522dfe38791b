/* What is left of b - A x, where x solves A x = b as well as FP64 can: a sum in FP64 leaves noise, an exact product the truth.
 *
 * A is a Hilbert matrix, whose solutions have errors far above the last digit. The residual is alpha A x + beta b with alpha = -1
 * and beta = 1, rounded once. */
#include <math.h>
#include <ozfp4.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 8 };

static void check(ozfp4_status status) {
  if (status == OZFP4_OK) return;
  fprintf(stderr, "%s: %s\n", ozfp4_status_name(status), ozfp4_last_error());
  exit(EXIT_FAILURE);
}

int main(void) {
  double a[N][N], x[N], b[N], r[N];
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) a[i][j] = 1.0 / (i + j + 1);
    x[i] = 1.0 + i / 3.0;
  }
  /* The right side by sums in FP64, so that the exact residual is what these lost. */
  for (int i = 0; i < N; ++i) {
    b[i] = 0;
    for (int j = 0; j < N; ++j) b[i] += a[i][j] * x[j];
    r[i] = b[i];
  }

  ozfp4_report report = {.size = sizeof report};
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = OZFP4_ACCURACY_CORRECT;
  options.report = &report;
  check(ozfp4_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, N, 1, N, -1.0, &a[0][0], N, x, 1, 1.0, r, 1, &options));

  double largest = 0, by_sums = 0;
  for (int i = 0; i < N; ++i) {
    double sum = b[i];
    for (int j = 0; j < N; ++j) sum -= a[i][j] * x[j];
    largest = fmax(largest, fabs(r[i]));
    by_sums = fmax(by_sums, fabs(sum - r[i]));
  }
  printf("ozfp4 %s: largest residual %.3e, of which sums in FP64 miss %.3e; %d products of planes\n", ozfp4_version_string(),
         largest, by_sums, (int)report.products);

  /* What is not a product is refused by name. */
  const ozfp4_status status =
      ozfp4_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, N, 1, N, -1.0, &a[0][0], N - 1, x, 1, 1.0, r, 1, NULL);
  printf("%s: %s\n", ozfp4_status_name(status), ozfp4_last_error());
  return largest > 0 && largest < 1e-14 && by_sums > 0 && status == OZFP4_INVALID_ARGUMENT ? EXIT_SUCCESS : EXIT_FAILURE;
}
