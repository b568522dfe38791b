#include "cpu/block_planes.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/bytes/multiply.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kCopyGrain = 1 << 20;  // bytes that a thread copies at least

}  // namespace

std::int64_t block_planes_bytes(const Plan& plan, const ByteKernel* kernel, Side side, std::int64_t planes, std::int64_t outers,
                                std::int64_t inners) {
  if (kernel != nullptr) return planes * PackedShape{side, outers, inners}.plane_bytes();
  return planes * outers * inners * plan.alphabet.entry_bytes();
}

std::int64_t block_scratch(const Plan& plan, const ByteKernel* kernel, const MultiplyShape& shape) {
  return kernel != nullptr ? multiply_bytes_scratch(plan, shape) : cpu_multiply_scratch(plan, shape);
}

void encode_block(const Plan& plan, const ByteKernel* kernel, int count, const OperandView& view, const LineScales& scales,
                  const Block& block, Side side, void* planes) {
  if (kernel != nullptr) return cpu_encode_packed(plan, count, view, scales, block, side, planes);
  cpu_encode(plan, count, view, scales, block, planes);
}

void multiply_block(const Plan& plan, const ByteKernel* kernel, int count, const MultiplyShape& shape, const void* a,
                    const void* b, bool accumulate, void* output, const MultiplyScratch& scratch,
                    const std::function<void(double)>& progress) {
  if (kernel != nullptr) return multiply_bytes(*kernel, plan, count, shape, a, b, accumulate, output, scratch, progress);
  cpu_multiply(plan, count, shape, a, b, accumulate, output, scratch, progress);
}

void multiply_planes(const Plan& plan, int count, const MultiplyShape& shape, const void* a, const void* b, void* output) {
  const ByteKernel* kernel = byte_kernel_of(plan);
  const std::int64_t planes = planes_used(plan, count), longest = std::min(shape.inners, kMostByteInner);
  const MultiplyShape most{shape.rows, shape.columns, kernel != nullptr ? longest : shape.inners};
  const std::int64_t scratch_bytes = block_scratch(plan, kernel, most);
  const Buffer scratch = allocate_buffer(scratch_bytes);
  const MultiplyScratch own{scratch.get(), scratch_bytes};
  if (kernel == nullptr) return multiply_block(plan, kernel, count, shape, a, b, false, output, own);
  const PackedShape whole_a{Side::left, shape.rows, shape.inners}, whole_b{Side::right, shape.columns, shape.inners};
  const Buffer packed_a = allocate_buffer(planes * whole_a.plane_bytes()),
               packed_b = allocate_buffer(planes * whole_b.plane_bytes());
  pack_planes(whole_a, planes, static_cast<const std::int8_t*>(a), packed_a.get());
  pack_planes(whole_b, planes, static_cast<const std::int8_t*>(b), packed_b.get());
  const Buffer piece_a = allocate_buffer(planes * PackedShape{Side::left, shape.rows, longest}.plane_bytes());
  const Buffer piece_b = allocate_buffer(planes * PackedShape{Side::right, shape.columns, longest}.plane_bytes());
  for (std::int64_t k = 0; k < shape.inners; k += kMostByteInner) {
    const std::int64_t inners = std::min(kMostByteInner, shape.inners - k);
    copy_packed(whole_a, packed_a.get(), 0, k, {Side::left, shape.rows, inners}, planes, piece_a.get());
    copy_packed(whole_b, packed_b.get(), 0, k, {Side::right, shape.columns, inners}, planes, piece_b.get());
    multiply_block(plan, kernel, count, {shape.rows, shape.columns, inners}, piece_a.get(), piece_b.get(), k > 0, output, own);
  }
}

BlockPlanes::BlockPlanes(const Plan& plan, int count, const ShiftedOperand& operand, const ByteKernel* kernel, Side side,
                         std::int64_t outers, std::int64_t inners)
    : plan_(plan),
      count_(count),
      operand_(operand),
      kernel_(kernel),
      side_(side),
      is_whole_(operand.planes != nullptr && outers == operand.view.outer && inners == operand.view.inner / plan.width()),
      planes_(allocate_buffer(is_whole_ ? 0 : block_planes_bytes(plan, kernel, side, planes_used(plan, count), outers, inners))) {
}

const void* BlockPlanes::encode(const Block& block) {
  if (is_whole_) return operand_.planes;
  const bool is_held = block.outer0 == held_.outer0 && block.outers == held_.outers && block.inner0 == held_.inner0 &&
                       block.inners == held_.inners;
  if (is_held) return planes_.get();
  held_ = block;
  if (operand_.planes != nullptr) {
    copy(block);
  } else {
    encode_block(plan_, kernel_, count_, operand_.view, operand_.scales, block, side_, planes_.get());
  }
  return planes_.get();
}

// A block's part of the planes that there are, as encode would write it.
void BlockPlanes::copy(const Block& block) {
  const std::int64_t entry = plan_.alphabet.entry_bytes(), width = plan_.width();
  if (kernel_ != nullptr) {
    copy_packed({side_, operand_.view.outer, operand_.view.inner / width}, operand_.planes, block.outer0, block.inner0 / width,
                {side_, block.outers, block.inners / width}, planes_used(plan_, count_), planes_.get());
    return;
  }
  const std::int64_t pitch = operand_.view.inner / width * entry, bytes = block.inners / width * entry;
  const char* from = operand_.planes + block.outer0 * pitch + block.inner0 / width * entry;
  parallel_for(planes_used(plan_, count_) * block.outers, kCopyGrain / bytes + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t plane = line / block.outers, outer = line % block.outers;
      std::memcpy(planes_.get() + line * bytes, from + (plane * operand_.view.outer + outer) * pitch,
                  static_cast<std::size_t>(bytes));
    }
  });
}

}  // namespace ozfp4
