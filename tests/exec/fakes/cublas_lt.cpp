// Stands in for libcublasLt.so.13.
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
// Descriptors are arrays of 64-bit values by attribute.
static int get(const std::int64_t* values, int attribute, void* to, std::size_t bytes, std::size_t* written) {
  std::memcpy(to, &values[attribute], bytes);
  return *written = bytes, 0;
}
int cublasLtMatmulDescGetAttribute(const std::int64_t* values, int attribute, void* to, std::size_t bytes, std::size_t* written) {
  return get(values, attribute, to, bytes, written);
}
int cublasLtMatrixLayoutGetAttribute(const std::int64_t* values, int attribute, void* to, std::size_t bytes,
                                     std::size_t* written) {
  return get(values, attribute, to, bytes, written);
}
std::size_t cublasLtGetVersion() { return 130101; }
int cublasLtMatmul(void*, const std::int64_t*, const void*, const void*, const std::int64_t*, const void*, const std::int64_t*,
                   const void*, const void*, const std::int64_t*, void*, const std::int64_t*, const void*, void*, std::size_t,
                   void*) {
  return 15;  // tells that it was called
}
}
