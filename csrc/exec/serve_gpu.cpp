#include "exec/serve_gpu.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "exec/bypass.hpp"
#include "exec/decide.hpp"
#include "exec/driver.hpp"
#include "exec/fork.hpp"
#include "exec/line.hpp"
#include "exec/record.hpp"
#include "exec/settings.hpp"
#include "exec/verify.hpp"
#include "ozfp4.h"
#include "product/threshold.hpp"

namespace ozfp4::exec::cublas {
namespace {

constexpr int cuda_major = 13;             // of this build
constexpr std::int64_t least_bytes = 256;  // a workspace of none is passed an address all the same
constexpr std::uint64_t most_counts = 1024;

// State that products of a context share: the pool of their workspaces, whose memory stays with it until the program ends, and
// counts on the host that kernels write; null where there is no such memory.
struct Shared {
  void* pool;
  std::int64_t* counts;
};

ForkLock lock;  // never held while the driver is asked, which may wait for the device
auto& contexts() {
  static auto& found = *new std::map<std::uint64_t, Shared>;  // what those had that are gone is never used again
  return found;
}
void forget() { contexts().clear(); }  // the device's memory is the parent's
const bool forgets = (forget_in_children(forget), true);

Shared shared() {
  const std::uint64_t context = current_context();
  {
    const ForkLock::Guard hold(lock);
    const auto there = contexts().find(context);
    if (there != contexts().end()) return there->second;
  }
  // Where two threads are here at once, one pool and its memory stay unused.
  const Shared made{make_pool(), static_cast<std::int64_t*>(allocate_on_host(most_counts * sizeof(std::int64_t)))};
  if (made.counts) std::fill_n(made.counts, most_counts, 0);
  const ForkLock::Guard hold(lock);
  return contexts().emplace(context, made).first->second;
}

// The memory is the pool's again as soon as the stream has passed the product.
class Workspace {
 public:
  Workspace(void* pool, std::int64_t bytes, Stream stream) : memory_(allocate(pool, bytes, stream)), stream_(stream) {}
  ~Workspace() { release(memory_, stream_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* get() const { return memory_; }

 private:
  void* const memory_;
  const Stream stream_;
};

Reason reason_of(ozfp4_status status) {
  switch (status) {
    case OZFP4_UNSUPPORTED: return Reason::unsupported;
    case OZFP4_NO_DEVICE: return Reason::no_device;
    case OZFP4_OUT_OF_MEMORY:
    case OZFP4_WORKSPACE: return Reason::no_memory;
    default: return Reason::failed;
  }
}

Reason enqueue(const Product& matrix, void* pool, Stream stream, std::int64_t* repaired) {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = settings().accuracy, options.repaired = repaired;
  std::int64_t bytes = 0;
  ozfp4_status status = workspace_bytes(matrix, options, &bytes);
  if (status == OZFP4_OK) {
    bytes = std::max(bytes, least_bytes);
    const Workspace space(pool, bytes, stream);
    if (!space.get()) return Reason::no_memory;
    status = multiply(matrix, space.get(), bytes, stream, options);
  }
  if (status == OZFP4_OK) return Reason::none;
  say_once(std::string("cuBLAS makes what ozfp4 does not: ") + last_error());
  return reason_of(status);
}

// The count of a calling address, which another one may share.
std::int64_t* count_of(const Real& real, std::int64_t* counts) {
  const bool is_asked = !settings().always && settings().accuracy != OZFP4_ACCURACY_SCALED;
  return is_asked && counts ? counts + reinterpret_cast<std::uintptr_t>(real.caller) / 4 % most_counts : nullptr;
}
std::int64_t value_of(const std::int64_t* count) { return *static_cast<const volatile std::int64_t*>(count); }

// Where a matrix of a batch behind the first one cannot be made, those before it are written: the program gets an error.
Reason serve(const Real& real, const Product& product, Stream stream, Status* status) {
  const Shared own = shared();
  std::int64_t* const count = count_of(real, own.counts);
  const std::int64_t few = few_repairs(product.m * product.n), before = real.few_repairs;
  if (count && before > 0 && value_of(count) > before) {
    real.has_many_repairs = true;
    return Reason::many_repairs;
  }
  for (std::int64_t i = 0; i < product.batch && *status == success; ++i) {
    const Reason how = enqueue(matrix_of(product, i), own.pool, stream, i == 0 ? count : nullptr);
    if (how != Reason::none && i == 0) return how;
    if (how != Reason::none) *status = how == Reason::no_memory ? allocation_failed : internal_error;
  }
  // A kernel writes the count, and the next call looks at it; the first product of a calling address is waited for.
  if (!count || before >= few) return Reason::none;
  real.few_repairs = few;
  if (before == 0 && wait_for(stream)) real.has_many_repairs = value_of(count) > few;
  return Reason::none;
}

// Why a product is caught, or left; `stream` is the handle's. Small calls do not query the handle.
Reason decide(const Real& real, Handle handle, const Product& product, Stream* stream) {
  const bool always = settings().always;
  if (!is_valid(product)) return Reason::refused_by_blas;
  if (product.type == Type::other) return Reason::other_types;
  Reason found = by_request(real, product);
  if (found == Reason::none && !always) found = by_threshold(product, threshold_on_device(product.type));
  if (found != Reason::none) return found;
  const CublasState& state = real.cublas;
  int mode = 0, version = 0;
  if (!state.get_pointer_mode || !state.get_stream || !state.get_version) return Reason::refused_by_blas;
  if (state.get_pointer_mode(handle, &mode) != success) return Reason::refused_by_blas;
  if (mode != pointers_to_host) return Reason::factor_on_device;
  found = by_factors(product);
  if (found != Reason::none) return found;
  if (!has_device()) return Reason::no_device;
  if (state.get_stream(handle, stream) != success || state.get_version(handle, &version) != success) {
    return Reason::refused_by_blas;
  }
  if (version / 10000 != cuda_major) return Reason::other_version;
  if (is_captured(*stream)) return Reason::captured;
  return always ? Reason::always : real.has_many_repairs ? Reason::many_repairs : Reason::large;
}

}  // namespace

Reason serve_or_leave(const Real& real, Handle handle, const Product& product, Status* status) {
  Stream stream = nullptr;
  const Reason decided = decide(real, handle, product, &stream);
  if (!is_caught(decided)) return decided;
  const Bypass bypass;
  const BesideCaptures beside;
  const Verification verification(product, read_from_device, stream);
  const std::int64_t began = now();
  const Reason how = serve(real, product, stream, status);
  if (how != Reason::none) return how;
  count(kind_of(real.routine, product, decided), now() - began);
  verification.finish(real.routine, product);
  return decided;
}

}  // namespace ozfp4::exec::cublas
