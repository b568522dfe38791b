// cublasLtMatmul: D = alpha op(A) op(B) + beta C of descriptors, which ozfp4 makes where D is C and nothing else is asked for.
#include <cstddef>
#include <cstdint>

#include "interpose/call/bypass.hpp"
#include "interpose/call/choice.hpp"
#include "interpose/cublas/call.hpp"
#include "interpose/process/record.hpp"

namespace ozfp4::interpose::cublas {
namespace {

// Attributes of descriptors, as cublasLt.h numbers them.
enum : int { desc_compute, desc_scale, desc_pointer_mode, desc_transa, desc_transb, desc_transc, desc_fill, desc_epilogue };
enum : int { layout_type, layout_order, layout_rows, layout_columns, layout_leading, layout_batch, layout_stride };
constexpr int layout_plane = 7, layout_batch_mode = 8, default_epilogue = 1, full = 2, order_column = 0, order_row = 1;

using GetAttribute = decltype(Functions::get_layout);

template <class T>
bool read(GetAttribute get, const void* from, int attribute, T* value) {
  std::size_t written = 0;
  return get && get(from, attribute, value, sizeof *value, &written) == success && written == sizeof *value;
}

struct Layout {
  std::uint32_t type = 0;
  std::int32_t order = 0, batch = 0, batch_mode = 0;  // the last: whether matrices lie one behind the other
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, stride = 0, plane = 0;
};

bool read_layout(GetAttribute get, const void* from, Layout* to) {
  read(get, from, layout_batch_mode, &to->batch_mode);  // which the first cuBLAS of CUDA 13 may not know
  return read(get, from, layout_type, &to->type) && read(get, from, layout_order, &to->order) &&
         read(get, from, layout_rows, &to->rows) && read(get, from, layout_columns, &to->columns) &&
         read(get, from, layout_leading, &to->leading) && read(get, from, layout_batch, &to->batch) &&
         read(get, from, layout_stride, &to->stride) && read(get, from, layout_plane, &to->plane);
}

struct Matmul {
  const void *description, *alpha, *a, *layout_a, *b, *layout_b, *beta, *c, *layout_c;
  void* d;
  const void* layout_d;
};

// The type of D and of sums, and the extents, as far as they are told: what most calls are left for.
Reason read_extents(const Functions& of, const Matmul& call, Product* p) {
  std::int32_t compute = 0, transa = 0, batch = 0;
  std::uint32_t type = 0;
  std::uint64_t rows = 0, columns = 0, inner = 0;
  if (!read(of.get_description, call.description, desc_compute, &compute) ||
      !read(of.get_layout, call.layout_d, layout_type, &type)) {
    return Reason::other_types;
  }
  const bool is_own = cublas::type_of(static_cast<int>(type), static_cast<int>(type), static_cast<int>(type), compute, &p->type);
  if (!read(of.get_layout, call.layout_d, layout_rows, &rows) || !read(of.get_layout, call.layout_d, layout_columns, &columns) ||
      !read(of.get_layout, call.layout_d, layout_batch, &batch)) {
    return Reason::other_types;
  }
  p->m = static_cast<std::int64_t>(rows), p->n = static_cast<std::int64_t>(columns), p->batch = batch;
  if (!read(of.get_description, call.description, desc_transa, &transa) ||
      !read(of.get_layout, call.layout_a, transa == op_n ? layout_columns : layout_rows, &inner)) {
    return Reason::other_types;
  }
  p->k = static_cast<std::int64_t>(inner);
  return is_own ? by_extents_on_device(*p) : Reason::other_types;
}

// A product whose bits BLAS's meaning gives; Reason::other_types for all else. Range: read_extents has gone before.
Reason read_product(const Functions& of, const Matmul& call, Product* p, Place* place) {
  Layout a, b, c, d;
  std::int32_t compute = 0, scale = 0, mode = 0, transa = 0, transb = 0, transc = 0, fill = full;
  std::uint32_t epilogue = 0;
  const auto read_desc = [&](int attribute, auto* to) { return read(of.get_description, call.description, attribute, to); };
  if (!read_desc(desc_epilogue, &epilogue) || !read_desc(desc_compute, &compute) || !read_desc(desc_scale, &scale) ||
      !read_desc(desc_pointer_mode, &mode) || !read_desc(desc_transa, &transa) || !read_desc(desc_transb, &transb) ||
      !read_desc(desc_transc, &transc)) {
    return Reason::other_types;
  }
  read_desc(desc_fill, &fill);
  if (epilogue != default_epilogue || transc != op_n || fill != full || !read_layout(of.get_layout, call.layout_d, &d) ||
      !read_layout(of.get_layout, call.layout_a, &a) || !read_layout(of.get_layout, call.layout_b, &b)) {
    return Reason::other_types;
  }
  // Extents that contradict each other are cuBLAS's to refuse.
  const auto is_shaped = [](const Layout& x, int op, std::uint64_t rows, std::uint64_t columns) {
    return (op == op_n ? x.rows : x.columns) == rows && (op == op_n ? x.columns : x.rows) == columns;
  };
  const auto inner = static_cast<std::uint64_t>(p->k);
  if (!is_shaped(a, transa, d.rows, inner) || !is_shaped(b, transb, inner, d.columns) ||
      !read_layout(of.get_layout, call.layout_c, &c) || !is_shaped(c, op_n, d.rows, d.columns)) {
    return Reason::other_types;
  }
  const auto is_alike = [&d](const Layout& x) {
    return x.type == d.type && x.order == d.order && x.batch == d.batch && x.plane == 0 && x.batch_mode == 0;
  };
  const bool has_order = d.order == order_column || d.order == order_row;
  if (!is_alike(a) || !is_alike(b) || !is_alike(c) || !is_alike(d) || !has_order || scale != static_cast<std::int32_t>(d.type) ||
      (mode != pointers_to_host && mode != pointers_to_device) || call.alpha == nullptr || call.beta == nullptr) {
    return Reason::other_types;
  }
  p->order = d.order == order_row ? row_major : column_major;
  p->transpose_a = transpose_of(transa), p->transpose_b = transpose_of(transb);
  p->alpha = call.alpha, p->beta = call.beta;
  p->a = call.a, p->b = call.b, p->c = call.d;
  p->lda = a.leading, p->ldb = b.leading, p->ldc = d.leading;
  p->stride_a = a.stride, p->stride_b = b.stride, p->stride_c = d.stride;
  if (!is_valid(*p)) return Reason::refused_by_blas;
  place->is_host_factor = mode == pointers_to_host;
  place->adds_another = call.c != call.d || c.leading != d.leading || c.stride != d.stride;
  return Reason::always;
}

}  // namespace
}  // namespace ozfp4::interpose::cublas

using namespace ozfp4::interpose;  // of the definition below alone
using namespace ozfp4::interpose::cublas;

extern "C" __attribute__((visibility("default"))) Status cublasLtMatmul(Handle handle, const void* description, const void* alpha,
                                                                        const void* a, const void* layout_a, const void* b,
                                                                        const void* layout_b, const void* beta, const void* c,
                                                                        const void* layout_c, void* d, const void* layout_d,
                                                                        const void* algorithm, void* workspace, std::size_t bytes,
                                                                        Stream stream) {
  const Real& real = real_routine(Routine::cublasLtMatmul, __builtin_return_address(0));
  const auto forward = [&] {
    return reinterpret_cast<decltype(&cublasLtMatmul)>(real.address)(handle, description, alpha, a, layout_a, b, layout_b, beta,
                                                                     c, layout_c, d, layout_d, algorithm, workspace, bytes,
                                                                     stream);
  };
  if (bypass_depth > 0) return forward();
  const Functions& of = functions_of(real.library);
  const Matmul call{description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d};
  Product product;
  product.type = Type::other;
  Reason known = read_extents(of, call, &product);
  Place place{};
  if (known == Reason::always) {
    place = place_of_stream(of, stream, {workspace, bytes});
    known = read_product(of, call, &product, &place);
  }
  return serve_or_leave(real, product, known, place, forward);
}
