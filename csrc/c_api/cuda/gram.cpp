// ozfp4_cuda_?gram: blocks on and above the diagonal are multiplied; those below it are copied.
#include "c_api/checked/gram.hpp"

#include <algorithm>
#include <vector>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/cuda/entry.hpp"
#include "product/gpu/gram.hpp"

namespace ozfp4::c_api {
namespace {

MatrixProduct check_device_gram(const GramCall& call, const CallOptions& options) {
  const MatrixProduct gram = check_gram(call, options);
  if (gram.is_there()) {
    check_device_extent("n", call.n, call.type.is_complex);
    check_device_extent("k", call.k, call.type.is_complex);
  }
  return gram;
}

void run(const GramCall& call, const Place& place, const ozfp4_options* given) {
  const CallOptions options = read_device_options(given);
  const MatrixProduct gram = check_device_gram(call, options);
  check_aligned("a", call.a, call.type.bytes());
  check_aligned("c", call.c, call.type.bytes());
  if (!gram.is_there()) return enqueue_nothing(options, place);
  place.check();
  on_device([&] {
    const auto problem = find_gram(gram, options, place.stream);
    place.check_holds(problem->bytes, "ozfp4_cuda_workspace_size_gram");
    launch(*problem, gram, options, place.workspace, place.stream);
  });
}

// At most that of whatever call there is of these extents: what lines take depends on whether they are aligned. Pointers and
// leading dimensions of the call are not looked at.
std::int64_t workspace_bytes(GramCall call, const ozfp4_options* given) {
  constexpr std::int64_t aligned = 16;  // entries: a multiple of the widest loads
  const CallOptions options = read_device_options(given);
  const bool has_rows = is_row_major(call.order) != is_transposed("trans", call.transpose);
  const std::int64_t least = round_up(std::max<std::int64_t>(has_rows ? call.k : call.n, 1), aligned);
  call.c = reinterpret_cast<char*>(std::uintptr_t(256));
  call.ldc = std::max<std::int64_t>(call.n, 1);
  std::vector<MatrixProduct> grams;
  for (const int offset : {0, call.type.bytes()}) {
    for (const std::int64_t gap : {0, 1}) {
      call.a = reinterpret_cast<const char*>(std::uintptr_t(256 + offset));
      call.lda = least + gap;
      grams.push_back(check_device_gram(call, options));
    }
  }
  if (!grams.front().is_there()) return 0;
  return most_within_limit(grams, [&](const MatrixProduct& gram) { return find_gram(gram, options, no_stream())->bytes; });
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_CUDA_GRAM(letter, T, kType)                                                                                        \
  ozfp4_status ozfp4_cuda_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc, \
                                         void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) { \
    return guarded(                                                                                                              \
        [&] { run({kType, order, trans, n, k, a, lda, c, ldc}, place_of(workspace, workspace_bytes, stream), options); });       \
  }

extern "C" {

ozfp4_status ozfp4_cuda_workspace_size_gram(ozfp4_type type, int order, int trans, int64_t n, int64_t k,
                                            const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    *bytes = workspace_bytes({float_type("type", type), order, trans, n, k, nullptr, 0, nullptr, 0}, options);
  });
}

OZFP4_CUDA_GRAM(d, double, kD)
OZFP4_CUDA_GRAM(s, float, kS)
OZFP4_CUDA_GRAM(z, void, kZ)
OZFP4_CUDA_GRAM(c, void, kC)

}  // extern "C"
