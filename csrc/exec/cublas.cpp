// Products of cuBLAS: how ozfp4 makes them on a GPU, and the functions that stand before cuBLAS's.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "exec/cublas_types.hpp"
#include "exec/decide.hpp"
#include "exec/driver.hpp"
#include "exec/settings.hpp"
#include "product/threshold.hpp"

namespace ozfp4::exec::cublas {
namespace {

constexpr int cuda_major = 13;             // of this build
constexpr std::int64_t least_bytes = 256;  // a workspace of none is passed an address all the same
constexpr std::uint64_t most_counts = 1024;

// State that products of a context share: the pool of their workspaces, which keeps its memory until the program ends, and counts
// on the host that kernels write. It is null where there is no such memory.
struct Shared {
  void* pool = nullptr;
  std::int64_t* counts = nullptr;
};

Shared make_shared() {
  Shared made;
  PoolProperties properties{};
  properties.type = pinned, properties.location = on_device;
  if (driver()->cuCtxGetDevice(&properties.device) == 0 && driver()->cuMemPoolCreate(&made.pool, &properties) == 0) {
    // Memory that is given back stays in the pool, and streams do not wait for each other's memory.
    std::uint64_t all = UINT64_MAX;
    int no = 0;
    driver()->cuMemPoolSetAttribute(made.pool, keeps_bytes, &all);
    driver()->cuMemPoolSetAttribute(made.pool, reuses_by_dependencies, &no);
  }
  void* counts = nullptr;  // given back with the context
  if (driver()->cuMemHostAlloc(&counts, most_counts * sizeof(std::int64_t), mapped) == 0) {
    made.counts = static_cast<std::int64_t*>(counts);
    std::fill_n(made.counts, most_counts, 0);
  }
  return made;
}

auto& contexts() {
  static auto& found = *new std::map<unsigned long long, Shared>;  // what those had that are gone is never used again
  return found;
}

Shared shared() {
  unsigned long long context = 0;  // no other one of the process has the number, nor ever had
  driver()->cuCtxGetId(nullptr, &context);
  {
    const Guard hold(table_lock);
    const auto there = contexts().find(context);
    if (there != contexts().end()) return there->second;
  }
  const Shared made = make_shared();  // where two threads are here at once, one's is never used
  const Guard hold(table_lock);
  return contexts().emplace(context, made).first->second;
}

ozfp4_status enqueue(const Product& p, void* workspace, std::int64_t bytes, Stream stream, const ozfp4_options& options) {
  const auto pass = [&](auto function, auto alpha, auto a, auto b, auto beta, auto c) {
    return function(p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, alpha, a, p.lda, p.stride_a, b, p.ldb, p.stride_b, beta,
                    c, p.ldc, p.stride_c, p.batch, workspace, bytes, stream, &options);
  };
  const auto pass_real = [&](auto function, auto zero) {
    using T = decltype(zero);
    return pass(function, *static_cast<const T*>(p.alpha), static_cast<const T*>(p.a), static_cast<const T*>(p.b),
                *static_cast<const T*>(p.beta), static_cast<T*>(p.c));
  };
  switch (p.type) {
    case Type::float32: return pass_real(library()->ozfp4_cuda_sgemm_strided_batched, float());
    case Type::float64: return pass_real(library()->ozfp4_cuda_dgemm_strided_batched, double());
    case Type::complex64: return pass(library()->ozfp4_cuda_cgemm_strided_batched, p.alpha, p.a, p.b, p.beta, p.c);
    default: return pass(library()->ozfp4_cuda_zgemm_strided_batched, p.alpha, p.a, p.b, p.beta, p.c);
  }
}

// In a workspace that is the pool's again as soon as the stream has passed the product.
Reason enqueue(const Product& p, void* pool, Stream stream, std::int64_t* repaired) {
  static constexpr ozfp4_type types[] = {OZFP4_FLOAT32, OZFP4_FLOAT64, OZFP4_COMPLEX64, OZFP4_COMPLEX128};
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = settings().accuracy, options.repaired = repaired;
  std::int64_t bytes = 0;
  ozfp4_status status = library()->ozfp4_cuda_workspace_size_gemm_strided_batched(
      types[static_cast<int>(p.type)], p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.stride_a, p.b,
      p.ldb, p.stride_b, p.beta, p.c, p.ldc, p.stride_c, p.batch, &options, &bytes);
  if (status == OZFP4_OK) {
    bytes = std::max(bytes, least_bytes);
    std::uintptr_t memory = 0;
    if (!pool || driver()->cuMemAllocFromPoolAsync(&memory, static_cast<std::size_t>(bytes), pool, stream) != 0) {
      return Reason::no_memory;
    }
    status = enqueue(p, reinterpret_cast<void*>(memory), bytes, stream, options);
    driver()->cuMemFreeAsync(memory, stream);
  }
  if (status != OZFP4_OK) say_once(std::string("cuBLAS makes what ozfp4 does not: ") + library()->ozfp4_last_error());
  return reason_of(status);
}

// That of a handle of cuBLAS, which small calls do not query: the current device, on the handle's stream.
class Gpu final : public Place {
 public:
  explicit Gpu(Handle handle) : handle_(handle) {}
  std::int64_t threshold(Type type) override;
  Reason is_open(const Real& real) override;
  // Then the thread may allocate and wait although a graph is captured on another stream, by this thread or by any. The driver
  // refuses that by default, and gives the capture up.
  void exchange_mode() override { driver()->cuThreadExchangeStreamCaptureMode(&mode_); }
  // Returns when it is enqueued.
  Reason make(const Real& real, const Product& product) override;
  void make_alone(const Real&, const Product&) override {}  // a handle is of a library that has all routines
  bool read(void* to, const void* from, std::int64_t bytes, std::int64_t step, std::int64_t count) const override;

 private:
  Handle handle_;
  Stream stream_ = nullptr;
  int mode_ = relaxed;  // and then what it was before
};

std::int64_t Gpu::threshold(Type type) {
  constexpr int most = 64;
  static std::atomic<std::int64_t> known[most][type_count];  // 0: not asked yet
  int device = 0;
  if (!driver() || driver()->cuCtxGetDevice(&device) != 0 || device >= most) return kNeverFaster;
  std::atomic<std::int64_t>& own = known[device][static_cast<int>(type)];
  if (own.load(std::memory_order_relaxed) == 0) {
    char name[256] = "";
    int high = 0, low = 0;
    const bool is_known = driver()->cuDeviceGetName(name, sizeof name, device) == 0 &&
                          driver()->cuDeviceGetAttribute(&high, major_capability, device) == 0 &&
                          driver()->cuDeviceGetAttribute(&low, minor_capability, device) == 0;
    own.store(is_known ? gpu_threshold(name, 10 * high + low, letter_of(type)) : kNeverFaster, std::memory_order_relaxed);
  }
  return own.load(std::memory_order_relaxed);
}

Reason Gpu::is_open(const Real& real) {
  const CublasState& state = real.cublas;
  int mode = 0, version = 0, captured = 0;
  if (!state.get_pointer_mode || !state.get_stream || !state.get_version) return Reason::refused_by_blas;
  if (state.get_pointer_mode(handle_, &mode) != success) return Reason::refused_by_blas;
  if (mode != pointers_to_host) return Reason::factor_on_device;
  if (!driver() || !library()) return Reason::no_device;
  if (state.get_stream(handle_, &stream_) != success || state.get_version(handle_, &version) != success) {
    return Reason::refused_by_blas;
  }
  if (version / 10000 != cuda_major) return Reason::other_version;
  // For the default stream it fails where a graph is captured on a stream that waits for it: the capture would break.
  if (driver()->cuStreamIsCapturing(stream_, &captured) != 0 || captured != 0) return Reason::captured;
  return Reason::none;
}

// A kernel writes the count, and the next call looks at it; the first product of a calling address is waited for.
Reason Gpu::make(const Real& real, const Product& product) {
  const Shared own = shared();
  const bool counts = own.counts && !settings().always && settings().accuracy != OZFP4_ACCURACY_SCALED;
  // The count of a calling address, which another one may share.
  std::int64_t* const word = counts ? own.counts + reinterpret_cast<std::uintptr_t>(real.caller) / 4 % most_counts : nullptr;
  const volatile std::int64_t* const count = word;
  const std::int64_t before = real.few_repairs;
  if (count && before > 0 && *count > before) {
    real.has_many_repairs = true;
    return Reason::many_repairs;
  }
  const Reason how = enqueue(product, own.pool, stream_, word);
  const std::int64_t few = how == Reason::none ? few_repairs(product.m * product.n * product.batch) : 0;
  if (!count || before >= few) return how;
  real.few_repairs = few;
  if (before == 0 && driver()->cuStreamSynchronize(stream_) == 0) real.has_many_repairs = *count > few;
  return how;
}

bool Gpu::read(void* to, const void* from, std::int64_t bytes, std::int64_t step, std::int64_t count) const {
  if (count == 0) return true;
  const auto entry = static_cast<std::size_t>(bytes);
  const bool is_line = step == 1;  // else a column of entries, a step apart
  Memcpy2d copy{};
  copy.kind_from = kind_device, copy.kind_to = kind_host;
  copy.device_from = reinterpret_cast<std::uintptr_t>(from), copy.host_to = to;
  copy.width = is_line ? entry * static_cast<std::size_t>(count) : entry;
  copy.height = is_line ? 1 : static_cast<std::size_t>(count);
  copy.pitch_from = is_line ? copy.width : entry * static_cast<std::size_t>(step);
  copy.pitch_to = copy.width;
  return driver()->cuMemcpy2DAsync_v2(&copy, stream_) == 0 && driver()->cuStreamSynchronize(stream_) == 0;
}

using Stride = long long;

Product batch_of(Product p, std::int64_t batch, Stride stride_a, Stride stride_b, Stride stride_c) {
  p.batch = batch, p.stride_a = stride_a, p.stride_b = stride_b, p.stride_c = stride_c;
  return p;
}

}  // namespace

void forget_contexts() { contexts().clear(); }

}  // namespace ozfp4::exec::cublas

using namespace ozfp4::exec;  // of the definitions below alone
using namespace ozfp4::exec::cublas;

#define OZFP4_PRODUCT(type) \
  Product { type, column_major, transpose_of(transa), transpose_of(transb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc }

#define OZFP4_GEMM(name, letter, Int)                                                                                          \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,       \
                           Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {                              \
    OZFP4_REAL(name);                                                                                                          \
    return call<Status>(real, OZFP4_PRODUCT(type_of(#letter[0])), Gpu(handle), handle, transa, transb, m, n, k, alpha, a, lda, \
                        b, ldb, beta, c, ldc);                                                                                 \
  }
#define OZFP4_STRIDED(name, letter, Int)                                                                                      \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,      \
                           Int lda, Stride stride_a, const void* b, Int ldb, Stride stride_b, const void* beta, void* c,      \
                           Int ldc, Stride stride_c, Int batch) {                                                             \
    OZFP4_REAL(name);                                                                                                         \
    return call<Status>(real, batch_of(OZFP4_PRODUCT(type_of(#letter[0])), batch, stride_a, stride_b, stride_c), Gpu(handle), \
                        handle, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,   \
                        batch);                                                                                               \
  }
#define OZFP4_EX(name, letter, Int)                                                                                            \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,       \
                           int type_a, Int lda, const void* b, int type_b, Int ldb, const void* beta, void* c, int type_c,     \
                           Int ldc, int compute, int algorithm) {                                                              \
    OZFP4_REAL(name);                                                                                                          \
    return call<Status>(real, OZFP4_PRODUCT(type_of(type_a, type_b, type_c, compute)), Gpu(handle), handle, transa, transb, m, \
                        n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algorithm);                \
  }
#define OZFP4_STRIDED_EX(name, letter, Int)                                                                                     \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,        \
                           int type_a, Int lda, Stride stride_a, const void* b, int type_b, Int ldb, Stride stride_b,           \
                           const void* beta, void* c, int type_c, Int ldc, Stride stride_c, Int batch, int compute,             \
                           int algorithm) {                                                                                     \
    OZFP4_REAL(name);                                                                                                           \
    const Product one = OZFP4_PRODUCT(type_of(type_a, type_b, type_c, compute));                                                \
    return call<Status>(real, batch_of(one, batch, stride_a, stride_b, stride_c), Gpu(handle), handle, transa, transb, m, n, k, \
                        alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, batch,       \
                        compute, algorithm);                                                                                    \
  }
OZFP4_OF_CUBLAS_TYPES(OZFP4_GEMM, gemm, _v2)
OZFP4_OF_CUBLAS_TYPES(OZFP4_STRIDED, gemmStridedBatched, )
OZFP4_CUBLAS_NAMES(OZFP4_EX, x, , GemmEx, )
OZFP4_CUBLAS_NAMES(OZFP4_STRIDED_EX, x, , GemmStridedBatchedEx, )
