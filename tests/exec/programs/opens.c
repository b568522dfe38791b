// A thread makes a product, within which another library sets is_waiting and waits for is_in_constructor; meanwhile
// libconstructed.so is opened.
#include <dlfcn.h>
#include <pthread.h>
extern volatile int is_waiting;
extern double call(void);
static void* work(void* unused) { return call() == 8 ? unused : 0; }
int main(void) {
  pthread_t thread;
  void* result = 0;
  pthread_create(&thread, 0, work, &thread);
  while (!is_waiting) {
  }
  if (!dlopen("libconstructed.so", RTLD_NOW)) return 1;
  pthread_join(thread, &result);
  return result == &thread ? 0 : 2;
}
