// Calls that exec leaves, and what the C library is asked for within them: its functions of these names are those of the program.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long clocks, locks, allocations, names, lookups;
extern void* __libc_malloc(size_t);
int clock_gettime(clockid_t id, struct timespec* to) { return ++clocks, (int)syscall(SYS_clock_gettime, id, to); }
void* malloc(size_t bytes) { return ++allocations, __libc_malloc(bytes); }
char* getenv(const char* name) {
  static char* (*next)(const char*);
  if (!next) next = (char* (*)(const char*))dlsym(RTLD_NEXT, "getenv");
  return ++names, next(name);
}
int dladdr(const void* address, Dl_info* info) {
  static int (*next)(const void*, Dl_info*);
  if (!next) next = (int (*)(const void*, Dl_info*))dlsym(RTLD_NEXT, "dladdr");
  return ++lookups, next(address, info);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static int (*next)(pthread_mutex_t*);
  if (!next) next = (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  return ++locks, next(mutex);
}
extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*, size_t, size_t);
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern int cublasCreate_v2(void**);
extern int cublasSetStream_v2(void*, void*);
extern int cublasSetWorkspace_v2(void*, void*, size_t);
extern int cublasSgemm_v2(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*,
                          int);
extern int cublasDgemm_v2(void*, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*,
                          int);
static void* handle;
static double a[64], c[64], one = 1, zero = 0;
static const int n = 8;
static void single(void) { cublasSgemm_v2(handle, 0, 0, 64, 64, 64, &one, a, 64, a, 64, &zero, c, 64); }
static void small(void) { cublasDgemm_v2(handle, 0, 0, 64, 64, 64, &one, a, 64, a, 64, &zero, c, 64); }
static void as_torch(void) {
  cublasSetStream_v2(handle, 0), cublasSetWorkspace_v2(handle, c, 64);
  small();
}
static void slower(void) { cublasDgemm_v2(handle, 0, 0, 2048, 2048, 2048, &one, a, 2048, a, 2048, &zero, c, 2048); }
static void fortran(void) { dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1); }
static void in_c(void) { cblas_dgemm(102, 111, 111, n, n, n, 1, a, n, a, n, 0, c, n); }
static void count(const char* name, void (*call)(void)) {
  for (int i = 0; i < 20000; ++i) call();
  clocks = locks = allocations = names = lookups = 0;
  for (int i = 0; i < 1000; ++i) call();
  const long found[] = {clocks, locks, allocations, names, lookups};
  printf("%s %ld %ld %ld %ld %ld\n", name, found[0], found[1], found[2], found[3], found[4]);
}
int main(void) {
  if (cublasCreate_v2(&handle) != 0) return 1;
  count("single", single), count("small", small), count("as_torch", as_torch), count("slower", slower);
  count("fortran", fortran), count("in_c", in_c);
  return 0;
}
