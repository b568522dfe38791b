#include "interpose/cublas/call.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "interpose/call/bypass.hpp"
#include "interpose/call/decide.hpp"
#include "interpose/cublas/device/counts.hpp"
#include "interpose/cublas/device/device.hpp"
#include "interpose/cublas/device/native.hpp"
#include "interpose/cublas/device/verification.hpp"
#include "interpose/cublas/device/workspace.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/process/line.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/process/table.hpp"
#include "product/threshold.hpp"

namespace ozfp4::interpose::cublas {
namespace {

constexpr int cuda_major = 13;  // of this build

Reason reason_of(ozfp4_status status) {
  switch (status) {
    case OZFP4_UNSUPPORTED: return Reason::unsupported;
    case OZFP4_NO_DEVICE: return Reason::no_device;
    case OZFP4_OUT_OF_MEMORY:
    case OZFP4_WORKSPACE: return Reason::no_memory;
    default: return Reason::failed;
  }
}

// The properties of a product that its layout depends on: how addresses lie to the widest loads, whether alpha and beta are 0 or
// 1, and which parts they have.
struct Likeness {
  int device = -1, type = 0, transpose_a = 0, transpose_b = 0, addresses = 0, factors = 0;
  std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
  bool operator==(const Likeness& x) const {
    return device == x.device && type == x.type && transpose_a == x.transpose_a && transpose_b == x.transpose_b &&
           addresses == x.addresses && factors == x.factors && m == x.m && n == x.n && k == x.k && lda == x.lda && ldb == x.ldb &&
           ldc == x.ldc;
  }
  std::uint64_t hash() const {
    const std::uint64_t x = mix(static_cast<std::uint64_t>(m) + (static_cast<std::uint64_t>(type + 4 * transpose_a) << 48));
    const std::uint64_t y = mix(x + static_cast<std::uint64_t>(n) + (static_cast<std::uint64_t>(addresses) << 40));
    const std::uint64_t z = mix(y + static_cast<std::uint64_t>(k) + (static_cast<std::uint64_t>(factors) << 40));
    return mix(z + static_cast<std::uint64_t>(lda) + (static_cast<std::uint64_t>(ldb) << 20) +
               (static_cast<std::uint64_t>(ldc) << 40));
  }
};

constexpr int widest_load = 16;
constexpr std::int64_t least_bytes = 256;  // one that takes none is passed an address all the same

int kind_of(Factor x) { return (x.real != 0 ? 1 : 0) + (x.imaginary != 0 ? 2 : 0) + (x.real == 1 && x.imaginary == 0 ? 4 : 0); }

Likeness likeness_of(const Product& p, int device) {
  const auto offset = [](const void* address) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % widest_load);
  };
  const int addresses = offset(p.a) + widest_load * (offset(p.b) + widest_load * offset(p.c));
  const int factors = kind_of(factor(p.type, p.alpha)) + 8 * kind_of(factor(p.type, p.beta));
  return {device, static_cast<int>(p.type), p.transpose_a, p.transpose_b, addresses, factors, p.m, p.n, p.k, p.lda, p.ldb, p.ldc};
}

// So many matrices of a batch, from the first one, lie otherwise to the widest loads than those before.
std::int64_t layouts_of(const Product& p) {
  const auto entry = static_cast<std::int64_t>(size_of(p.type));
  const bool all_alike = ((p.stride_a | p.stride_b | p.stride_c) % widest_load) * entry % widest_load == 0;
  return all_alike ? 1 : std::min(p.batch, widest_load / entry);
}

struct Bytes {
  std::atomic<std::int64_t> count;  // 0: not known yet
  void forget() { count = 0; }
};
Table<Likeness, Bytes, 8192> known_bytes;
void forget() { known_bytes.forget(); }
const bool forgets = (forget_in_children(forget), true);

Reason tell(ozfp4_status status, Stream stream) {
  if (status == OZFP4_UNSUPPORTED && is_captured(stream)) return Reason::captured_untried;  // the first one of its kind
  say_once(std::string("cuBLAS makes what ozfp4 does not: ") + last_error());
  return reason_of(status);
}

// The bytes of one matrix. Amid a capture they are not asked for: the answer may take trials of kernels, with memory and on a
// stream that no graph can have.
Reason bytes_of_matrix(const Product& p, const ozfp4_options& options, const Place& place, std::int64_t* bytes) {
  const int device = current_device();
  Bytes* const kept = device < 0 ? nullptr : known_bytes.at(likeness_of(p, device));
  if (kept) *bytes = kept->count.load(std::memory_order_relaxed);
  if (*bytes > 0) return Reason::none;
  if (is_captured(place.stream)) return place.space.memory ? Reason::captured_untried : Reason::captured;
  const ozfp4_status status = workspace_bytes(p, options, bytes);
  if (status != OZFP4_OK) return tell(status, place.stream);
  *bytes = std::max(*bytes, least_bytes);
  if (kept) kept->count.store(*bytes, std::memory_order_relaxed);
  return Reason::none;
}

// The bytes of the matrix that takes most.
Reason bytes_of(const Product& p, const ozfp4_options& options, const Place& place, std::int64_t* bytes) {
  Reason found = Reason::none;
  for (std::int64_t i = 0; i < layouts_of(p) && found == Reason::none; ++i) {
    std::int64_t own = 0;
    found = bytes_of_matrix(matrix_of(p, i), options, place, &own);
    *bytes = std::max(*bytes, own);
  }
  return found;
}

bool is_aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 256 == 0; }

Reason enqueue_in(Space space, const Product& matrix, Stream stream, const ozfp4_options& options) {
  if (!space.memory) return Reason::no_memory;
  const ozfp4_status status = multiply(matrix, space.memory, static_cast<std::int64_t>(space.bytes), stream, options);
  return status == OZFP4_OK ? Reason::none : tell(status, stream);
}

// One matrix, in the program's own space or, where there is none, in the stream's. In the first case a graph may be captured,
// which a call for the stream's workspace would break. The stream is held no longer than this takes.
Reason enqueue(const Product& matrix, Space space, std::int64_t bytes, Stream stream, const ozfp4_options& options) {
  if (space.memory) return enqueue_in(space, matrix, stream, options);
  StreamWorkspace own(stream);
  return enqueue_in({own.memory(bytes), static_cast<std::size_t>(bytes)}, matrix, stream, options);
}

// Asks a handle for the rest of a place, which only a product of ozfp4's takes. False where it says nothing.
bool complete(Place* place) {
  const Functions& of = functions_of(place->cublas);
  int version = 0;
  if (of.get_stream(place->handle, &place->stream) != success) return false;
  place->space = own_workspace(place->handle);
  place->is_own_version = of.get_version(place->handle, &version) == success && version / 10000 == cuda_major;
  return true;
}

}  // namespace

Reason begin_place(const Real& real, Handle handle, Place* place) {
  const Functions& of = functions_of(real.library);
  int mode = 0;
  if (!of.get_stream || !of.get_pointer_mode || !of.get_version) return Reason::refused_by_blas;
  if (of.get_pointer_mode(handle, &mode) != success) return Reason::refused_by_blas;
  *place = {handle, real.library, nullptr, {}, false};
  return mode == pointers_to_host ? Reason::none : Reason::factor_on_device;
}

Reason DeviceAttempt::decide(Place* place) {
  const Reason found = by_factors(product_);
  if (found != Reason::none) return found;
  if (!has_device()) return Reason::no_device;
  if (!complete(place)) return Reason::refused_by_blas;
  if (!place->is_own_version) return Reason::other_version;
  if (settings().always) return Reason::always;
  return is_captured(place->stream) ? Reason::captured_untried : Reason::large;
}

// All matrices of the batch, or none: what one of them is refused for, all are, but for an address.
Reason DeviceAttempt::serve(const Place& place, std::int64_t* repaired) {
  const Bypass bypass;
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = settings().accuracy, options.repaired = repaired;
  std::int64_t bytes = 0;
  const Reason known = bytes_of(product_, options, place, &bytes);
  if (known != Reason::none) return known;
  const bool is_own = place.space.bytes >= static_cast<std::size_t>(bytes) && is_aligned(place.space.memory);
  if (!is_own && is_captured(place.stream)) return Reason::captured;
  for (std::int64_t i = 0; i < product_.batch; ++i) {
    const Product matrix = matrix_of(product_, i);
    if (i == 1) options.repaired = nullptr;  // the first matrix speaks for the batch
    const Reason reason = enqueue(matrix, is_own ? place.space : Space{}, bytes, place.stream, options);
    if (reason == Reason::none) continue;
    if (i == 0) return reason;
    // What is written stays, and the others are cuBLAS's: C may be read again nowhere else.
    for (; i < product_.batch; ++i) {
      if (!native_on_device(place.cublas, matrix_of(product_, i), place.stream)) status_ = internal_error;
    }
  }
  return Reason::none;
}

// A kernel writes the count to the host, and the next call looks at it; the first product of a calling address is waited for.
Reason DeviceAttempt::serve_watched(const Place& place) {
  if (real_.has_many_repairs) return Reason::many_repairs;
  std::int64_t* const count = settings().accuracy == OZFP4_ACCURACY_SCALED ? nullptr : count_of(real_.caller);
  if (!count) return serve(place, nullptr);
  const std::int64_t few = few_repairs(product_.m * product_.n * product_.batch);
  std::int64_t before = real_.few_repairs;
  if (before > 0 && value_of(count) > before) {
    real_.has_many_repairs = true;
    return Reason::many_repairs;
  }
  if (before < few) real_.few_repairs = few;
  const Reason how = serve(place, count);
  if (how == Reason::none && before == 0 && wait_for(place.stream)) real_.has_many_repairs = value_of(count) > few;
  return how;
}

bool DeviceAttempt::is_served(Place place) {
  reason_ = decide(&place);
  if (!is_caught(reason_)) return false;
  const BesideCaptures beside;
  const DeviceVerification verification(product_, place.stream);
  const std::int64_t began = now();
  const Reason how = reason_ == Reason::large ? serve_watched(place) : serve(place, nullptr);
  if (how == Reason::none) {
    count(kind_of(real_.routine, product_, reason_), now() - began);
    verification.finish(real_.routine, product_, place.stream);
    return true;
  }
  reason_ = how;
  return false;
}

}  // namespace ozfp4::interpose::cublas
