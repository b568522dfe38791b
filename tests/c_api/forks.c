/* A process that forks while another of its threads tries the BLAS: the child tries one itself, and waits for nobody. The BLAS is
 * one that takes its time, once. */
#include <ozfp4.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int is_slow, is_at_it;

#define GEMM(name, T)                                                                                                    \
  static void name(const char* ta, const char* tb, const int* m, const int* n, const int* k, const T* alpha, const T* a, \
                   const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc) {                    \
    if (is_slow) {                                                                                                       \
      is_at_it = 1;                                                                                                      \
      sleep(2);                                                                                                          \
      is_slow = 0;                                                                                                       \
    }                                                                                                                    \
    for (int i = 0; i < *m; ++i) {                                                                                       \
      for (int j = 0; j < *n; ++j) {                                                                                     \
        T sum = 0;                                                                                                       \
        for (int l = 0; l < *k; ++l) {                                                                                   \
          sum += (*ta == 'T' ? a[l + (int64_t)i * *lda] : a[i + (int64_t)l * *lda]) *                                    \
                 (*tb == 'T' ? b[j + (int64_t)l * *ldb] : b[l + (int64_t)j * *ldb]);                                     \
        }                                                                                                                \
        c[i + (int64_t)j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + (int64_t)j * *ldc]);                   \
      }                                                                                                                  \
    }                                                                                                                    \
  }
GEMM(dgemm, double)
GEMM(sgemm, float)

static ozfp4_status take(void) { return ozfp4_set_blas((ozfp4_blas_function)dgemm, (ozfp4_blas_function)sgemm); }

static void* first(void* status) {
  *(ozfp4_status*)status = take();
  return NULL;
}

static int multiplies(void) {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.backend = OZFP4_BACKEND_FP64;
  double x = 3, c = 0;
  const char* name = "";
  return ozfp4_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 1, 1, 1, 1, &x, 1, &x, 1, 0, &c, 1, &options) == OZFP4_OK &&
         c == 9 && ozfp4_blas_name(&name) == OZFP4_OK;
}

int main(void) {
  pthread_t thread;
  ozfp4_status status = OZFP4_INTERNAL;
  is_slow = 1;
  pthread_create(&thread, NULL, first, &status);
  while (!is_at_it) usleep(1000);
  const pid_t child = fork();
  if (child == 0) {
    is_slow = 0;
    alarm(60);
    _exit(take() == OZFP4_OK && multiplies() ? 0 : 1);
  }
  int ended = -1;
  waitpid(child, &ended, 0);
  pthread_join(thread, NULL);
  printf("child %d, parent %d\n", WIFEXITED(ended) ? WEXITSTATUS(ended) : -1, status == OZFP4_OK && multiplies());
  return 0;
}
