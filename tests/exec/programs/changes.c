// Changes the environment for a second, in which two threads multiply.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "blas.h"
static volatile int is_over;
static void* multiply(void* unused) {
  double a[64], c[64];
  for (int i = 0; i < 64; ++i) a[i] = i;
  do square("T", 8, a, c);
  while (!is_over);
  return unused;
}
int main(void) {
  char name[32];
  pthread_t threads[2];
  is_over = 1, multiply(NULL);  // with all that comes once
  is_over = 0;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, multiply, NULL);
  const clock_t begun = clock();
  for (int count = 1; clock() - begun < CLOCKS_PER_SEC; ++count) {
    snprintf(name, sizeof name, "OZFP4_TESTS_%d", count);
    setenv(name, "x", 1);
    for (int i = count - 500; count % 500 == 0 && i < count; ++i) {
      snprintf(name, sizeof name, "OZFP4_TESTS_%d", i);
      unsetenv(name);
    }
  }
  is_over = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
