#include "interpose/cublas/verification.hpp"

#include <array>

#include "cpu/runtime/fp_mode.hpp"
#include "interpose/cublas/driver.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/verify/verify.hpp"

namespace ozfp4::interpose::cublas {
namespace {

// A line of op(X), one entry behind another. Matrices are column-major: a column is contiguous, and the entries of a row lie
// `leading` apart.
bool fetch(std::vector<char>& to, const Product& p, const void* matrix, std::int64_t leading, bool is_line, std::int64_t index,
           std::int64_t count, Stream stream) {
  const std::size_t entry = size_of(p.type);
  to.resize(entry * static_cast<std::size_t>(count));
  const std::int64_t first = is_line ? index * leading : index;
  const char* from = static_cast<const char*>(matrix) + first * static_cast<std::int64_t>(entry);
  return is_line ? to_host(to.data(), from, to.size(), to.size(), 1, stream)
                 : to_host(to.data(), from, static_cast<std::size_t>(leading) * entry, entry, static_cast<std::size_t>(count),
                           stream);
}

bool fetch_c(const Product& p, interpose::Place place, Complex* found, Stream stream) {
  std::vector<char> entry;
  if (!fetch(entry, p, static_cast<const char*>(p.c) + place_of(p, p.ldc, place.row, place.column), 1, true, 0, 1, stream)) {
    return false;
  }
  const Factor value = factor(p.type, entry.data());
  *found = {value.real, value.imaginary};
  return true;
}

}  // namespace

DeviceVerification::DeviceVerification(const Product& product, Stream stream) {
  if (!is_chosen_for_verification()) return;
  const Factor beta = factor(product.type, product.beta);
  for (int i = 0; i < entries_verified(product); ++i) {
    Entry entry{random_below(product.batch), {random_below(product.m), random_below(product.n)}, {}};
    const bool reads_c = beta.real != 0 || beta.imaginary != 0;
    if (reads_c && !fetch_c(matrix_of(product, entry.matrix), entry.place, &entry.before, stream)) return;
    entries_.push_back(entry);
  }
}

void DeviceVerification::finish(Routine routine, const Product& product, Stream stream) const {
  if (entries_.empty()) return;
  const DefaultFpMode mode;
  count_verified_product();
  for (const Entry& entry : entries_) {
    const Product p = matrix_of(product, entry.matrix);
    std::vector<char> row, column;
    Complex found;
    const bool a_is_line = p.transpose_a != no_transpose, b_is_line = p.transpose_b == no_transpose;
    if (!fetch(row, p, p.a, p.lda, a_is_line, entry.place.row, p.k, stream) ||
        !fetch(column, p, p.b, p.ldb, b_is_line, entry.place.column, p.k, stream) || !fetch_c(p, entry.place, &found, stream)) {
      return;
    }
    // The same entry as a product of a row and a column on the host.
    std::array<double, 2> doubles{found.real, found.imaginary};
    std::array<float, 2> singles{static_cast<float>(found.real), static_cast<float>(found.imaginary)};
    Product own = p;
    own.order = row_major;
    own.m = own.n = own.ldc = 1;
    own.a = row.data(), own.b = column.data();
    own.lda = p.transpose_a == no_transpose ? p.k : 1;
    own.ldb = p.transpose_b == no_transpose ? 1 : p.k;
    own.c = is_single(p.type) ? static_cast<void*>(singles.data()) : doubles.data();
    count_verified_entry(routine, p, entry.place, found, check_entry(own, settings().accuracy, {0, 0}, entry.before));
  }
}

}  // namespace ozfp4::interpose::cublas
