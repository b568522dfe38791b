#include "cpu/plane_products.hpp"

#include <algorithm>
#include <cstdint>

#include "cpu/block_planes.hpp"
#include "cpu/bytes/multiply.hpp"
#include "cpu/runtime/buffer.hpp"

namespace ozfp4 {

void multiply_planes(const Plan& plan, int count, const MultiplyShape& shape, const void* a, const void* b, void* output) {
  const ByteKernel* kernel = byte_kernel_of(plan);
  const std::int64_t planes = planes_used(plan, count), longest = std::min(shape.inners, kMostByteInner);
  const MultiplyShape most{shape.rows, shape.columns, kernel != nullptr ? longest : shape.inners};
  const std::int64_t scratch_bytes = block_scratch(plan, kernel, most);
  const Buffer scratch = allocate_buffer(scratch_bytes);
  if (kernel == nullptr) return cpu_multiply(plan, count, shape, a, b, false, output, scratch.get(), scratch_bytes);
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
    multiply_bytes(*kernel, plan, count, {shape.rows, shape.columns, inners}, piece_a.get(), piece_b.get(), k > 0, output,
                   {scratch.get(), scratch_bytes});
  }
}

}  // namespace ozfp4
