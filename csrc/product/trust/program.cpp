// ozfp4_selftest: tests one kernel of a GPU in a separate process, for a program that has never run it on this machine. It lies
// next to the library of these kernels, and is no command: ozfp4_selftest LIBRARY DEVICE KERNEL ELEMENT short|long.
#include <dlfcn.h>

#include <cstring>

int main(int count, char** words) {
  if (count != 6) return 2;
  void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 2;
  using Test = int (*)(const char* device, const char* name, const char* element, int is_short);
  const auto test = reinterpret_cast<Test>(dlsym(library, "ozfp4_cuda_selftest"));
  return test == nullptr ? 2 : test(words[2], words[3], words[4], std::strcmp(words[5], "short") == 0);
}
