// cublasLtMatmul: D = alpha op(A) op(B) + beta C of descriptors, which ozfp4 makes where D is C and nothing else is asked for.
#include <cstddef>
#include <cstdint>

#include "interpose/call/bypass.hpp"
#include "interpose/cublas/call.hpp"

namespace ozfp4::interpose::cublas {
namespace {

// Attributes of descriptors, as cublasLt.h numbers them.
enum : int { desc_compute, desc_scale, desc_pointer_mode, desc_transa, desc_transb, desc_transc, desc_fill, desc_epilogue };
enum : int { layout_type, layout_order, layout_rows, layout_columns, layout_leading, layout_batch, layout_stride };
constexpr int layout_plane = 7, default_epilogue = 1, full = 2, order_column = 0, order_row = 1;

using GetAttribute = Status (*)(const void*, int, void*, std::size_t, std::size_t*);

template <class T>
bool read(GetAttribute get, const void* from, int attribute, T* value) {
  std::size_t written = 0;
  return get && get(from, attribute, value, sizeof *value, &written) == success && written == sizeof *value;
}

struct Layout {
  std::uint32_t type = 0;
  std::int32_t order = 0, batch = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, stride = 0, plane = 0;
};

bool read_layout(GetAttribute get, const void* from, Layout* to) {
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

// A product whose bits BLAS's meaning gives; Reason::other_types for all else, and the extents are then those of D, where it has
// any.
Reason read_product(void* library, const Matmul& call, Product* p, bool* is_host_factor) {
  const auto get_desc = reinterpret_cast<GetAttribute>(symbol_of(library, "cublasLtMatmulDescGetAttribute"));
  const auto get_layout = reinterpret_cast<GetAttribute>(symbol_of(library, "cublasLtMatrixLayoutGetAttribute"));
  Layout a, b, c, d;
  if (!read_layout(get_layout, call.layout_d, &d)) return Reason::other_types;
  p->m = static_cast<std::int64_t>(d.rows), p->n = static_cast<std::int64_t>(d.columns), p->batch = d.batch;
  std::int32_t compute = 0, scale = 0, mode = 0, transa = 0, transb = 0, transc = 0, fill = full;
  std::uint32_t epilogue = 0;
  if (!read_layout(get_layout, call.layout_a, &a) || !read_layout(get_layout, call.layout_b, &b) ||
      !read_layout(get_layout, call.layout_c, &c) || !read(get_desc, call.description, desc_compute, &compute) ||
      !read(get_desc, call.description, desc_scale, &scale) || !read(get_desc, call.description, desc_pointer_mode, &mode) ||
      !read(get_desc, call.description, desc_transa, &transa) || !read(get_desc, call.description, desc_transb, &transb) ||
      !read(get_desc, call.description, desc_transc, &transc) || !read(get_desc, call.description, desc_epilogue, &epilogue)) {
    return Reason::other_types;
  }
  p->k = static_cast<std::int64_t>(transa == op_n ? a.columns : a.rows);
  *is_host_factor = mode == pointers_to_host;
  read(get_desc, call.description, desc_fill, &fill);
  const bool is_alike = a.type == b.type && a.type == c.type && a.type == d.type && a.order == b.order && a.order == c.order &&
                        a.order == d.order && (a.order == order_column || a.order == order_row) && a.batch == d.batch &&
                        b.batch == d.batch && c.batch == d.batch && a.plane == 0 && b.plane == 0 && c.plane == 0 && d.plane == 0;
  const bool is_plain =
      epilogue == default_epilogue && transc == op_n && fill == full && scale == static_cast<std::int32_t>(a.type);
  if (!is_alike || !is_plain ||
      !cublas::type_of(static_cast<int>(a.type), static_cast<int>(b.type), static_cast<int>(c.type), compute, &p->type)) {
    return Reason::other_types;
  }
  // Extents that contradict each other are cuBLAS's to refuse.
  const auto is_shaped = [](const Layout& x, int op, std::uint64_t rows, std::uint64_t columns) {
    return (op == op_n ? x.rows : x.columns) == rows && (op == op_n ? x.columns : x.rows) == columns;
  };
  const auto inner = static_cast<std::uint64_t>(p->k);
  if (!is_shaped(a, transa, d.rows, inner) || !is_shaped(b, transb, inner, d.columns) || !is_shaped(c, op_n, d.rows, d.columns) ||
      call.alpha == nullptr || call.beta == nullptr) {
    return Reason::other_types;
  }
  p->order = a.order == order_row ? row_major : column_major;
  p->transpose_a = transpose_of(transa), p->transpose_b = transpose_of(transb);
  p->alpha = call.alpha, p->beta = call.beta;
  p->a = call.a, p->b = call.b, p->c = call.d;
  p->lda = a.leading, p->ldb = b.leading, p->ldc = d.leading;
  p->stride_a = a.stride, p->stride_b = b.stride, p->stride_c = d.stride;
  if (!*is_host_factor) return Reason::factor_on_device;
  // C is read where beta is not 0; elsewhere than D only cuBLAS adds it.
  const Factor beta = factor(p->type, p->beta);
  const bool reads_c = beta.real != 0 || beta.imaginary != 0;
  const bool is_in_place = call.c == call.d && c.leading == d.leading && c.stride == d.stride;
  return reads_c && !is_in_place ? Reason::other_types : Reason::always;
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
  Product product;
  bool is_host_factor = true;
  const Reason known = read_product(real.library, {description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d},
                                    &product, &is_host_factor);
  DeviceAttempt attempt(real, product);
  if (known != Reason::always) {
    attempt.is_left_for(known);
  } else if (!is_valid(product)) {
    attempt.is_left_for(Reason::refused_by_blas);
  } else if (attempt.is_served(place_of_stream(real, stream, {workspace, bytes}))) {
    return attempt.status();
  }
  Status status = success;
  {
    const Bypass bypass;
    status = forward();
  }
  attempt.left();
  return status;
}
