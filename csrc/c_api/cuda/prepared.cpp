// ozfp4_cuda_prepare, and products of operands that it has made.
#include "c_api/checked/prepared.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c_api/checked/status.hpp"
#include "c_api/cuda/call.hpp"
#include "c_api/cuda/enqueue.hpp"
#include "c_api/cuda/entry.hpp"
#include "product/gpu/choice.hpp"
#include "product/gpu/device.hpp"

struct ozfp4_cuda_prepared : ozfp4::product::DevicePrepared {};

namespace ozfp4::c_api {
namespace {

constexpr const char* kQuery = "ozfp4_cuda_prepared_size";

ToPrepare check_device_operand(const PrepareCall& call, const CallOptions& options) {
  const ToPrepare own = check_prepare(call, options);
  if (own.is_there()) {
    check_device_extent("rows", call.rows, own.type.is_complex);
    check_device_extent("columns", call.columns, own.type.is_complex);
  }
  return own;
}

Chosen choose_for(const ToPrepare& own, const CallOptions& options, const Device& device, cudaStream_t stream) {
  return choose(options, own.type.precision(), std::max<std::int64_t>(own.inner, 1), own.type.is_complex, device, stream);
}

std::unique_ptr<ozfp4_cuda_prepared> make(const PrepareCall& call, char* memory, std::int64_t bytes, cudaStream_t stream,
                                          const ozfp4_options* given) {
  const CallOptions options = read_device_options(given);
  const ToPrepare own = check_device_operand(call, options);
  check_aligned("x", call.x, own.type.bytes());
  if (bytes < 0) refuse("memory_bytes: " + std::to_string(bytes) + " is negative");
  check_pointer("memory", memory, own.is_there());
  check_aligned("memory", memory, 256);
  auto made = std::make_unique<ozfp4_cuda_prepared>();
  on_device([&] {
    const Device device = current_device();
    const Chosen chosen = choose_for(own, options, device, stream);
    static_cast<Prepared&>(*made) = {own.type,     own.is_left, own.is_row_major, call.rows,
                                     call.columns, chosen.plan, options.accuracy};
    made->device = device.index;
    made->kernel = chosen.kernel;
    if (!own.is_there()) return;
    const PreparedProblem problem = lay_out(own, options.accuracy, chosen.plan, chosen.kernel, device.gpu);
    if (bytes < problem.places.bytes) {
      refuse(Fault::workspace, "memory_bytes: " + std::to_string(bytes) + " are fewer than " +
                                   std::to_string(problem.places.bytes) + ", which " + kQuery + " says");
    }
    place(*made, problem, memory);
    launch(problem, own, memory, stream);
  });
  return made;
}

// At most that of whatever operand there is of these extents: a matrix of one line may lie along either axis. The pointer and the
// leading dimension of the call are not looked at.
std::int64_t memory_bytes(PrepareCall call, const ozfp4_options* given) {
  const CallOptions options = read_device_options(given);
  const bool has_rows = is_row_major(call.order) != is_transposed("trans", call.trans);
  const std::int64_t least = std::max<std::int64_t>(has_rows ? call.columns : call.rows, 1);
  call.x = reinterpret_cast<const char*>(std::uintptr_t(256));
  std::int64_t most = 0;
  for (const std::int64_t gap : {0, 1}) {
    call.ldx = least + gap;
    const ToPrepare own = check_device_operand(call, options);
    if (!own.is_there()) return 0;
    on_device([&] {
      const Device device = current_device();
      const Chosen chosen = choose_for(own, options, device, no_stream());
      most = std::max(most, lay_out(own, options.accuracy, chosen.plan, chosen.kernel, device.gpu).places.bytes);
    });
  }
  return most;
}

// ---- Products of them ----

struct Operands {
  const ozfp4_cuda_prepared *a, *b;

  const ozfp4_cuda_prepared* any() const { return a != nullptr ? a : b; }
  // As they stand in the row-major product.
  PreparedSides sides(int order) const { return is_row_major(order) ? PreparedSides{a, b} : PreparedSides{b, a}; }
};

void check_device(const Operands& operands) {
  const Device device = current_device();
  for (const auto& [name, made] : {std::make_pair("prepared_a", operands.a), std::make_pair("prepared_b", operands.b)}) {
    if (made == nullptr || made->device == device.index) continue;
    refuse(std::string(name) + ": it lies on device " + std::to_string(made->device) + ", the current one is " +
           std::to_string(device.index));
  }
  if (operands.a != nullptr && operands.b != nullptr && operands.a->kernel != operands.b->kernel) {
    refuse("prepared_b: its planes are of another kernel than those of prepared_a");
  }
}

void run(const GemmCall& given, const Operands& operands, const void* alpha, const void* beta, const Place& place,
         const ozfp4_options* given_options) {
  const CallOptions read = read_device_options(given_options);
  const GemmCall call = check_prepared(given, operands.a, operands.b, alpha, beta);
  const CallOptions options = options_of(read, *operands.any());
  const BatchedProduct product = check_device_gemm(call, options);
  if (product.is_there()) on_device([&] { check_device(operands); });
  enqueue(call, product, options, operands.sides(call.order), place, "ozfp4_cuda_workspace_size_prepared");
}

// At most that of whatever call there is of these operands.
std::int64_t workspace_bytes(GemmCall call, const Operands& operands, const ozfp4_options* given) {
  const double one[2] = {1, 0};
  const float one_single[2] = {1, 0};
  const CallOptions read = read_device_options(given);
  const bool is_single = operands.any() != nullptr && operands.any()->type.part == ElementType::float32;
  const void* factor = is_single ? static_cast<const void*>(one_single) : one;
  call = check_prepared(call, operands.a, operands.b, factor, factor);
  const CallOptions options = options_of(read, *operands.any());
  const PreparedSides sides = operands.sides(call.order);
  place_anywhere(call);
  if (!check_device_gemm(call, options).is_there()) return 0;
  on_device([&] { check_device(operands); });
  std::vector<BatchedProduct> products = widest(call, options);
  if (sides.left != nullptr && sides.right != nullptr) {  // which are not multiplied by i
    products.erase(std::remove_if(products.begin(), products.end(), [](const auto& own) { return is_imaginary(own.alpha); }),
                   products.end());
  }
  return most_bytes(products, options, sides);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

extern "C" {

ozfp4_status ozfp4_cuda_prepared_size(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                      const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    *bytes = memory_bytes({type, side, order, trans, rows, columns, nullptr, 0}, options);
  });
}

ozfp4_status ozfp4_cuda_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                const void* x, int64_t ldx, void* memory, int64_t memory_bytes, void* stream,
                                const ozfp4_options* options, ozfp4_cuda_prepared** prepared) {
  return guarded([&] {
    check_pointer("prepared", prepared, true);
    *prepared = make({type, side, order, trans, rows, columns, x, ldx}, static_cast<char*>(memory), memory_bytes,
                     static_cast<cudaStream_t>(stream), options)
                    .release();
  });
}

void ozfp4_cuda_release(ozfp4_cuda_prepared* prepared) { delete prepared; }

ozfp4_status ozfp4_cuda_workspace_size_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                const ozfp4_cuda_prepared* prepared_a, const ozfp4_cuda_prepared* prepared_b,
                                                const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    const GivenMatrix left{nullptr, 0, 0, prepared_a != nullptr}, right{nullptr, 0, 0, prepared_b != nullptr};
    *bytes = workspace_bytes({kD, order, transa, transb, m, n, k, 1.0, 0.0, left, right, nullptr, 0, 0, 1},
                             {prepared_a, prepared_b}, options);
  });
}

ozfp4_status ozfp4_cuda_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                      const void* a, int64_t lda, const ozfp4_cuda_prepared* prepared_a, const void* b,
                                      int64_t ldb, const ozfp4_cuda_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                      void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) {
  return guarded([&] {
    const GivenMatrix left{a, lda, 0, prepared_a != nullptr}, right{b, ldb, 0, prepared_b != nullptr};
    run({kD, order, transa, transb, m, n, k, 0.0, 0.0, left, right, c, ldc, 0, 1}, {prepared_a, prepared_b}, alpha, beta,
        place_of(workspace, workspace_bytes, stream), options);
  });
}

}  // extern "C"
