#include "product/gpu/lines.hpp"

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "cuda/layout/size_of.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/stored/store.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/plans.hpp"

namespace ozfp4::product {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t(1) << 35;

}  // namespace

std::optional<KeptLines> KeptLines::of(const Product& product, const Options& options, const Chosen& chosen,
                                       const Device& device) {
  const Operand& a = product.a;
  KeptLines kept;
  kept.about_ = {product.type, true, true, a.rows, a.columns, chosen.plan, options.accuracy};
  kept.device_ = device;
  kept.kernel_ = chosen.kernel;
  kept.plan_ = find_cuda_plan(chosen.plan, product.k, chosen.kernel, kept_promise(options.accuracy, product.type.precision()));
  kept.lines_ = {a.data,
                 product.type_a.part,
                 narrow<std::int32_t>(a.rows, "n"),
                 narrow<std::int32_t>(a.columns, "k"),
                 a.row_stride,
                 a.column_stride,
                 {}};
  check_store(*kept.plan_, kept.lines_, device.gpu);
  kept.scratch_ = make_stored_layout(*kept.plan_, 1, kept.lines_.outer, kept.lines_.inner, false).bytes;
  if (kept.scratch_ > kMostBytes) return std::nullopt;
  kept.bytes_ = kept.scratch_ + round_up(cuda::scale_scratch_bytes(kept.lines_), kPlaceAlignment);
  kept.lines_.data = nullptr;
  return kept;
}

void KeptLines::launch(const char* data, char* workspace, cudaStream_t stream) const {
  cuda::DeviceOperand lines = lines_;
  lines.data = data;
  cuda::LaunchOptions further;
  further.stream = stream;
  launch_store(*plan_, lines, workspace, workspace + scratch_, further);
}

DevicePrepared KeptLines::part(std::int64_t first, std::int64_t last, bool is_left, const char* data, char* workspace) const {
  DevicePrepared all{};
  static_cast<Prepared&>(all) = about_;
  all.device = device_.index;
  all.kernel = kernel_;
  all.view = lines_;
  all.view.data = data;
  all.stored.memory = workspace;
  all.stored.lines = lines_.outer;
  all.stored.matrices = 1;
  return lines_of(all, first, last, is_left);
}

}  // namespace ozfp4::product
