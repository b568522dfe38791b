// Memory as C++ takes it, by whichever of three functions its library was built for, which there is no longer after so many
// times.
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
long times_left = 1L << 60;
static int is_there(void) { return __sync_fetch_and_sub(&times_left, 1) > 0; }
static void* take(const char* name, size_t alignment, size_t size) {
  if (is_there()) return ((void* (*)(size_t, size_t))dlsym(RTLD_NEXT, name))(alignment, size);
  errno = ENOMEM;
  return NULL;
}
void* aligned_alloc(size_t alignment, size_t size) { return take("aligned_alloc", alignment, size); }
void* memalign(size_t alignment, size_t size) { return take("memalign", alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (!is_there()) return ENOMEM;
  return ((int (*)(void**, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign"))(memory, alignment, size);
}
