// call() in threads with little stack, and in a coroutine.
#include <pthread.h>
#include <stdio.h>
#include <ucontext.h>
extern double call(void);
static double result;
static ucontext_t before, own;
static char stack[65536];
static void* work(void* unused) {
  result = call();
  return unused;
}
static void coroutine(void) { result = call(); }
int main(void) {
  const int sizes[] = {16, 32, 48, 64, 128, 1024, 32};
  for (int i = 0; i < 7; ++i) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)sizes[i] << 10);
    if (pthread_create(&thread, &attributes, work, NULL) != 0) return 1;
    pthread_join(thread, NULL);
    printf("%g ", result);
  }
  getcontext(&own);
  own.uc_stack.ss_sp = stack;
  own.uc_stack.ss_size = sizeof stack;
  own.uc_link = &before;
  makecontext(&own, coroutine, 0);
  if (swapcontext(&before, &own) != 0) return 2;
  printf("%g\n", result);
  return 0;
}
