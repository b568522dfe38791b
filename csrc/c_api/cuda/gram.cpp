// ozfp4_cuda_?gram: blocks on and above the diagonal are multiplied; those below it are copied.
#include "c_api/checked/gram.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/cuda/entry.hpp"
#include "c_api/cuda/problem.hpp"
#include "cuda/gram/mirror.hpp"

namespace ozfp4::c_api {
namespace {

// Planes of A are made anew for each block, so that blocks are few; a small result is one, as the launches of more take longer
// than what they save.
constexpr std::int64_t kBlocks = 4, kLeastExtent = 6144;

std::vector<ColumnRange> blocks_of(std::int64_t n) {
  return gram_blocks(n, n < kLeastExtent ? std::max<std::int64_t>(n, 1) : ceil_div(n, kBlocks));
}

// The products of the blocks, the largest first.
std::vector<BatchedProduct> products_of(const MatrixProduct& gram, const std::vector<ColumnRange>& blocks) {
  std::vector<BatchedProduct> products;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) products.push_back({part_of(gram, *block)});
  return products;
}

MatrixProduct check_device_gram(const GramCall& call, const Options& options) {
  const MatrixProduct gram = check_gram(call, options);
  if (gram.is_there()) {
    check_device_extent("n", call.n, call.type.is_complex);
    check_device_extent("k", call.k, call.type.is_complex);
  }
  return gram;
}

void run(const GramCall& call, const Place& place, const ozfp4_options* given) {
  const Options options = read_device_options(given);
  const MatrixProduct gram = check_device_gram(call, options);
  check_aligned("a", call.a, call.type.bytes());
  check_aligned("c", call.c, call.type.bytes());
  if (!gram.is_there()) return enqueue_nothing(options, place);
  place.check();
  const std::vector<ColumnRange> blocks = blocks_of(gram.n);
  const std::vector<BatchedProduct> products = products_of(gram, blocks);
  on_device([&] {
    std::vector<std::shared_ptr<const DeviceProblem>> problems;
    for (const BatchedProduct& product : products) {
      problems.push_back(find_problem(product, options, place.stream));
      place.check_holds(problems.back()->places.bytes, "ozfp4_cuda_workspace_size_gram");
    }
    for (std::size_t i = 0; i < products.size(); ++i) {
      const ColumnRange& block = blocks[blocks.size() - 1 - i];
      launch(*problems[i], products[i], options, place.workspace, place.stream, i > 0);
      cuda::launch_mirror({gram.c, gram.type.part, gram.type.is_complex, gram.c_stride, block.first, block.last}, place.stream);
    }
  });
}

// At most that of whatever call there is of these extents: what lines take depends on whether they are aligned. Pointers and
// leading dimensions of the call are not looked at.
std::int64_t workspace_bytes(GramCall call, const ozfp4_options* given) {
  constexpr std::int64_t aligned = 16;  // entries: a multiple of the widest loads
  const Options options = read_device_options(given);
  const bool has_rows = is_row_major(call.order) != is_transposed("trans", call.transpose);
  const std::int64_t least = round_up(std::max<std::int64_t>(has_rows ? call.k : call.n, 1), aligned);
  call.c = reinterpret_cast<char*>(std::uintptr_t(256));
  call.ldc = std::max<std::int64_t>(call.n, 1);
  std::int64_t most = 0;
  for (const int offset : {0, call.type.bytes()}) {
    for (const std::int64_t gap : {0, 1}) {
      call.a = reinterpret_cast<const char*>(std::uintptr_t(256 + offset));
      call.lda = least + gap;
      const MatrixProduct gram = check_device_gram(call, options);
      if (!gram.is_there()) return 0;
      for (const BatchedProduct& product : products_of(gram, blocks_of(gram.n))) {
        on_device([&] { most = std::max(most, find_problem(product, options, nullptr)->places.bytes); });
      }
    }
  }
  return most;
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
