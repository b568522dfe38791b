// A thread that is asked to end before its product, which has some cancellation points.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "blas.h"
#pragma weak cblas_dgemm
static double *a, *c;
static void* multiply(void* unused) {
  pthread_cancel(pthread_self());
  cblas_dgemm(101, 111, 111, 300, 300, 300, 1, a, 300, a, 300, 0, c, 300);
  c[1] = -1;
  pthread_testcancel();
  return unused;
}
int main(void) {
  a = calloc(90000, sizeof *a), c = calloc(90000, sizeof *c);
  for (int i = 0; i < 90000; ++i) a[i] = 1;
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, multiply, NULL);
  pthread_join(thread, &result);
  printf("%d %g %g\n", result == PTHREAD_CANCELED, c[0], c[1]);
  return 0;
}
