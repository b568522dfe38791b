#include "exec/driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>

#include "product/threshold.hpp"

namespace ozfp4::exec::cublas {
namespace {

// The driver's interface, from the library that the program has loaded: cuda.h says what they do.
struct Memcpy2d {
  std::size_t x_from, y_from;
  unsigned kind_from;
  const void* host_from;
  std::uintptr_t device_from;
  void* array_from;
  std::size_t pitch_from;
  std::size_t x_to, y_to;
  unsigned kind_to;
  void* host_to;
  std::uintptr_t device_to;
  void* array_to;
  std::size_t pitch_to;
  std::size_t width, height;
};
constexpr unsigned kind_host = 1, kind_device = 2;  // CUmemorytype

struct PoolProperties {
  int type, handles;
  int location, device;
  void* security;
  std::size_t most;
  unsigned short usage;
  unsigned char reserved[54];
};
enum : int { pinned = 1, on_device = 1 };
enum : int { reuses_by_dependencies = 3, keeps_bytes = 4 };   // CUmemPool_attribute
enum : int { major_capability = 75, minor_capability = 76 };  // CUdevice_attribute

// X(name, arguments)
#define OZFP4_DRIVER(X)                                                   \
  X(cuMemPoolCreate, void**, const PoolProperties*)                       \
  X(cuMemPoolSetAttribute, void*, int, void*)                             \
  X(cuMemAllocFromPoolAsync, std::uintptr_t*, std::size_t, void*, Stream) \
  X(cuMemFreeAsync, std::uintptr_t, Stream)                               \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                        \
  X(cuStreamIsCapturing, Stream, int*)                                    \
  X(cuThreadExchangeStreamCaptureMode, int*)                              \
  X(cuMemcpy2DAsync_v2, const Memcpy2d*, Stream)                          \
  X(cuStreamSynchronize, Stream)                                          \
  X(cuCtxGetDevice, int*)                                                 \
  X(cuCtxGetId, void*, unsigned long long*)                               \
  X(cuDeviceGetName, char*, int, int)                                     \
  X(cuDeviceGetAttribute, int*, int, int)

struct Driver {
#define OZFP4_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  OZFP4_DRIVER(OZFP4_MEMBER)
#undef OZFP4_MEMBER
};

struct Library {
  decltype(&ozfp4_has_cuda) has_cuda = nullptr;
  decltype(&ozfp4_last_error) last_error = nullptr;
  decltype(&ozfp4_cuda_workspace_size_gemm) workspace_size = nullptr;
  decltype(&ozfp4_cuda_sgemm) sgemm = nullptr;
  decltype(&ozfp4_cuda_dgemm) dgemm = nullptr;
  decltype(&ozfp4_cuda_cgemm) cgemm = nullptr;
  decltype(&ozfp4_cuda_zgemm) zgemm = nullptr;
};

// False where one of them is not there.
template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_driver(Driver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  bool has_all = library != nullptr;
#define OZFP4_FIND(name, ...) has_all = has_all && find(library, #name, &driver.name);
  OZFP4_DRIVER(OZFP4_FIND)
#undef OZFP4_FIND
  return has_all;
}

bool open_library(const std::string& file, Library& own) {
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  return library && find(library, "ozfp4_has_cuda", &own.has_cuda) && find(library, "ozfp4_last_error", &own.last_error) &&
         find(library, "ozfp4_cuda_workspace_size_gemm", &own.workspace_size) && find(library, "ozfp4_cuda_sgemm", &own.sgemm) &&
         find(library, "ozfp4_cuda_dgemm", &own.dgemm) && find(library, "ozfp4_cuda_cgemm", &own.cgemm) &&
         find(library, "ozfp4_cuda_zgemm", &own.zgemm) && own.has_cuda() == 1;
}

// The package's own kernels, else an installed libozfp4.
bool find_library(Library& own) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&find_library), &info)) return false;
  const std::string file = info.dli_fname, beside = file.substr(0, file.rfind('/') + 1);
  const std::string installed = "libozfp4.so." + std::to_string(OZFP4_VERSION_MAJOR);
  return open_library(beside + "libozfp4_cuda.so", own) || open_library(beside + installed, own) || open_library(installed, own);
}

// Not a static that is made once, for which others would wait while the dynamic linker is asked, whose lock they may hold. Of
// threads that are here at once the first one's is kept.
template <class T>
struct Found {
  T functions;
  bool is_there = false;
};
template <class T>
const Found<T>& found(bool (*find)(T&)) {
  static std::atomic<const Found<T>*> known{nullptr};
  if (const Found<T>* all = known.load(std::memory_order_acquire)) return *all;
  auto made = std::make_unique<Found<T>>();
  made->is_there = find(made->functions);
  const Found<T>* first = nullptr;
  return known.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel) ? *made.release() : *first;
}
const Driver& driver() { return found(find_driver).functions; }
const Library& library() { return found(find_library).functions; }

std::int64_t threshold_of(int device, Type type) {
  char name[256] = "";
  int high = 0, low = 0;
  if (driver().cuDeviceGetName(name, sizeof name, device) != 0 ||
      driver().cuDeviceGetAttribute(&high, major_capability, device) != 0 ||
      driver().cuDeviceGetAttribute(&low, minor_capability, device) != 0) {
    return kNeverFaster;
  }
  return gpu_threshold(name, 10 * high + low, letter_of(type));
}

ozfp4_type entry_type(Type type) {
  static constexpr ozfp4_type types[] = {OZFP4_FLOAT32, OZFP4_FLOAT64, OZFP4_COMPLEX64, OZFP4_COMPLEX128};
  return types[static_cast<int>(type)];
}

}  // namespace

bool has_device() { return found(find_driver).is_there && found(find_library).is_there; }

std::int64_t threshold_on_device(Type type) {
  constexpr int most = 64;
  static std::atomic<std::int64_t> known[most][type_count];  // 0: not asked yet
  int device = 0;
  if (!found(find_driver).is_there || driver().cuCtxGetDevice(&device) != 0 || device >= most) return kNeverFaster;
  std::atomic<std::int64_t>& own = known[device][static_cast<int>(type)];
  std::int64_t least = own.load(std::memory_order_relaxed);
  if (least != 0) return least;
  const int kept = errno;
  own.store(least = threshold_of(device, type), std::memory_order_relaxed);
  errno = kept;
  return least;
}

void BesideCaptures::exchange() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }

const char* last_error() { return library().last_error(); }

ozfp4_status workspace_bytes(const Product& p, const ozfp4_options& options, std::int64_t* bytes) {
  return library().workspace_size(entry_type(p.type), p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha, p.a, p.lda,
                                  p.b, p.ldb, p.beta, p.c, p.ldc, &options, bytes);
}

ozfp4_status multiply(const Product& p, void* workspace, std::int64_t bytes, Stream stream, const ozfp4_options& options) {
  const auto pass = [&](auto function, auto alpha, auto a, auto b, auto beta, auto c) {
    return function(p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, alpha, a, p.lda, b, p.ldb, beta, c, p.ldc, workspace,
                    bytes, stream, &options);
  };
  const Library& own = library();
  switch (p.type) {
    case Type::float32:
      return pass(own.sgemm, *static_cast<const float*>(p.alpha), static_cast<const float*>(p.a), static_cast<const float*>(p.b),
                  *static_cast<const float*>(p.beta), static_cast<float*>(p.c));
    case Type::float64:
      return pass(own.dgemm, *static_cast<const double*>(p.alpha), static_cast<const double*>(p.a),
                  static_cast<const double*>(p.b), *static_cast<const double*>(p.beta), static_cast<double*>(p.c));
    case Type::complex64: return pass(own.cgemm, p.alpha, p.a, p.b, p.beta, p.c);
    default: return pass(own.zgemm, p.alpha, p.a, p.b, p.beta, p.c);
  }
}

void* make_pool() {
  PoolProperties properties{};
  properties.type = pinned, properties.location = on_device;
  void* pool = nullptr;
  if (driver().cuCtxGetDevice(&properties.device) != 0 || driver().cuMemPoolCreate(&pool, &properties) != 0) return nullptr;
  // Memory that is given back stays in the pool, and streams do not wait for each other's memory.
  std::uint64_t all = UINT64_MAX;
  int no = 0;
  driver().cuMemPoolSetAttribute(pool, keeps_bytes, &all);
  driver().cuMemPoolSetAttribute(pool, reuses_by_dependencies, &no);
  return pool;
}

void* allocate(void* pool, std::int64_t bytes, Stream stream) {
  std::uintptr_t address = 0;
  const bool is_there = pool && driver().cuMemAllocFromPoolAsync(&address, static_cast<std::size_t>(bytes), pool, stream) == 0;
  return is_there ? reinterpret_cast<void*>(address) : nullptr;
}

void release(void* memory, Stream stream) {
  if (memory) driver().cuMemFreeAsync(reinterpret_cast<std::uintptr_t>(memory), stream);
}

void* allocate_on_host(std::size_t bytes) {
  constexpr unsigned mapped = 2;
  void* memory = nullptr;
  return driver().cuMemHostAlloc(&memory, bytes, mapped) == 0 ? memory : nullptr;
}

bool is_captured(Stream stream) {
  int status = 0;
  return driver().cuStreamIsCapturing(stream, &status) != 0 || status != 0;
}

bool wait_for(Stream stream) { return driver().cuStreamSynchronize(stream) == 0; }

std::uint64_t current_context() {
  unsigned long long id = 0;
  return driver().cuCtxGetId(nullptr, &id) == 0 ? id : 0;
}

bool read_from_device(void* to, const void* from, std::size_t bytes, std::int64_t step, std::int64_t count, Stream stream) {
  if (count == 0) return true;
  const bool is_line = step == 1;  // else a column of entries, a step apart
  const std::size_t width = is_line ? bytes * static_cast<std::size_t>(count) : bytes;
  Memcpy2d copy{};
  copy.kind_from = kind_device;
  copy.device_from = reinterpret_cast<std::uintptr_t>(from);
  copy.pitch_from = is_line ? width : bytes * static_cast<std::size_t>(step);
  copy.kind_to = kind_host;
  copy.host_to = to;
  copy.pitch_to = width;
  copy.width = width;
  copy.height = is_line ? 1 : static_cast<std::size_t>(count);
  return driver().cuMemcpy2DAsync_v2(&copy, stream) == 0 && wait_for(stream);
}

}  // namespace ozfp4::exec::cublas
