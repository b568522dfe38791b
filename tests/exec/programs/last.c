// Products in the last moments of threads and of the process.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "blas.h"
static pthread_key_t key;
static void multiply(const char* when) {
  for (int turn = 0; turn < 3; ++turn) {
    double a[100], c[100], right = 0;
    for (int i = 0; i < 100; ++i) a[i] = i % 7;
    square("T", 10, a, c);
    for (int k = 0; k < 10; ++k) right += a[3 + 10 * k] * a[4 + 10 * k];
    if (c[43] != right) printf("%s: %g is not %g\n", when, c[43], right);
  }
}
static void at_end_of_thread(void* text) { multiply(text); }
static void at_exit(void) { multiply("exit"); }
__attribute__((destructor)) static void at_last(void) { multiply("destructor"); }
static void* work(void* text) {
  pthread_setspecific(key, text);
  multiply(text);
  return NULL;
}
int main(void) {
  atexit(at_exit);
  pthread_key_create(&key, at_end_of_thread);
  for (int i = 0; i < 20; ++i) {
    pthread_t threads[4];
    for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, work, "thread");
    for (int t = 0; t < 4; ++t) pthread_join(threads[t], NULL);
  }
  multiply("main");
  return 0;
}
