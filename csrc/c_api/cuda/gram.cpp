// ozfp4_cuda_?gram: blocks on and above the diagonal are multiplied; those below it are copied.
#include "c_api/checked/gram.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/cuda/choice.hpp"
#include "c_api/cuda/device/device.hpp"
#include "c_api/cuda/entry.hpp"
#include "c_api/cuda/prepared/lines.hpp"
#include "c_api/cuda/problem.hpp"
#include "c_api/product/product.hpp"
#include "cuda/gram/mirror.hpp"

namespace ozfp4::c_api {
namespace {

// From here on there are blocks: the launches of more take longer than what they save of a smaller result. Where planes of A are
// made anew for each of them they are few, else as narrow as the kernels multiply well.
constexpr std::int64_t kLeastExtent = 6144, kBlocks = 4, kLeastColumns = 1024;

std::vector<ColumnRange> blocks_of(std::int64_t n, bool is_kept) {
  const std::int64_t least = is_kept ? kLeastColumns : ceil_div(n, kBlocks);
  return gram_blocks(n, n < kLeastExtent ? std::max<std::int64_t>(n, 1) : least);
}

// The planes of A, where they are kept for all blocks.
std::optional<KeptLines> lines_of(const MatrixProduct& gram, const Options& options, cudaStream_t stream) {
  if (gram.type.is_complex || options.has_limit || gram.n < kLeastExtent || !gram.reads()) return std::nullopt;
  check_inner(options, gram.k);
  const Device device = current_device();
  return KeptLines::of(gram, options, choose(options, gram.type.precision(), gram.k, false, device, stream), device);
}

// A block of the result, and what is launched for it.
struct Block {
  ColumnRange columns;
  BatchedProduct product;
  ozfp4_cuda_prepared left{}, right{};
  PreparedSides sides;
  std::shared_ptr<const DeviceProblem> problem;
};

// All that is launched for a Gram matrix, the largest product first: planes that are kept, and blocks behind them.
struct GramProblem {
  std::optional<KeptLines> kept;
  std::deque<Block> blocks;  // sides point into them
  std::int64_t behind = 0, bytes = 0;

  GramProblem(const MatrixProduct& gram, const Options& options, char* workspace, cudaStream_t stream)
      : kept(lines_of(gram, options, stream)) {
    if (kept) behind = bytes = kept->bytes();
    const std::vector<ColumnRange> ranges = blocks_of(gram.n, kept.has_value());
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
      Block& block = blocks.emplace_back();
      block.columns = *range;
      block.product = {part_of(gram, *range)};
      if (kept) {
        block.left = kept->part(0, range->last, true, workspace);
        block.right = kept->part(range->first, range->last, false, workspace);
        block.sides = {&block.left, &block.right};
      }
      block.problem = find_problem(block.product, options, stream, block.sides);
      bytes = std::max(bytes, behind + block.problem->places.bytes);
    }
  }
};

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
  on_device([&] {
    const GramProblem problem(gram, options, place.workspace, place.stream);
    place.check_holds(problem.bytes, "ozfp4_cuda_workspace_size_gram");
    if (problem.kept) problem.kept->launch(place.workspace, place.stream);
    for (const Block& block : problem.blocks) {
      launch(*block.problem, block.product, options, place.workspace + problem.behind, place.stream,
             &block != &problem.blocks.front(), block.sides);
      cuda::launch_mirror({gram.c, gram.type.part, gram.type.is_complex, gram.c_stride, block.columns.first, block.columns.last},
                          place.stream);
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
      on_device([&] { most = std::max(most, GramProblem(gram, options, nullptr, nullptr).bytes); });
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
