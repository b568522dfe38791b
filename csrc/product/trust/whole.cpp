#include "product/trust/whole.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "arith/modulo.hpp"
#include "product/trust/cases.hpp"

namespace ozfp4::product {
namespace {

std::size_t size_of(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }

std::string named(const char* kind, const WholeProduct& product) {
  return std::string(kind) + " " + std::to_string(product.m) + " x " + std::to_string(product.k) + " x " +
         std::to_string(product.n) + (product.is_single ? " of float32" : "");
}

double rounded(double x, bool is_single) { return is_single ? static_cast<double>(static_cast<float>(x)) : x; }

struct Shape {
  std::int64_t m, k, n;
};

// Rows repeat after 7, columns after 5 and places along K after 16, but for powers of two.
WholeProduct make_whole(const char* kind, const Shape& shape, bool is_single) {
  const auto [m, k, n] = shape;
  const std::int64_t rows = std::min<std::int64_t>(m, 7), columns = std::min<std::int64_t>(n, 5),
                     places = std::min<std::int64_t>(k, 16);
  const int bits = is_single ? 24 : 53;
  const auto integer = [&](std::uint64_t seed, std::int64_t line, std::int64_t place) {  // a bit more, which becomes the sign
    const std::uint64_t found =
        scattered(static_cast<std::uint64_t>(k) + seed, static_cast<std::uint64_t>(line * places + place));
    return static_cast<std::int64_t>(found >> (63 - bits)) - (std::int64_t(1) << bits);
  };
  std::vector<double> small;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      Signed128 sum = 0;
      for (std::int64_t place = 0; place < places; ++place) {
        const std::int64_t count = (k - place + places - 1) / places;
        sum += static_cast<Signed128>(integer(0, i, place)) * integer(1, j, place) * count;
      }
      // Once, ties to even: a sum of 24-bit integers goes from 64 bits to float32 at once.
      small.push_back(is_single ? static_cast<double>(static_cast<float>(static_cast<std::int64_t>(sum)))
                                : static_cast<double>(sum));
    }
  }
  const auto scale_a = [](std::int64_t i) { return static_cast<int>(i % 40) - 20; };
  const auto scale_b = [](std::int64_t j) { return static_cast<int>(j % 50) - 25; };
  WholeProduct made{"", m, n, k, {}, {}, {}, is_single};
  made.name = named(kind, made);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      made.a.push_back(std::ldexp(static_cast<double>(integer(0, i % rows, p % places)), scale_a(i)));
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t p = 0; p < k; ++p) {
      made.b.push_back(std::ldexp(static_cast<double>(integer(1, j % columns, p % places)), scale_b(j)));
    }
  }
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      made.expected.push_back(
          std::ldexp(small[size_of(i % rows, columns) + static_cast<std::size_t>(j % columns)], scale_a(i) + scale_b(j)));
    }
  }
  return made;
}

WholeProduct transposed(const WholeProduct& product) {
  WholeProduct turned = product;
  std::swap(turned.m, turned.n);
  std::swap(turned.a, turned.b);
  std::swap(turned.a_by_columns, turned.b_by_rows);
  turned.name += " transposed";
  for (std::int64_t i = 0; i < turned.m; ++i) {
    for (std::int64_t j = 0; j < turned.n; ++j) {
      turned.expected[size_of(i, turned.n) + static_cast<std::size_t>(j)] =
          product.expected[size_of(j, product.n) + static_cast<std::size_t>(i)];
    }
  }
  return turned;
}

// Rows F, y, -F with F one of the powers of two in turn, and columns z + 1, z, z + 1, at places 0, 16 and 32 along K.
struct Cancelling {
  std::vector<double> factors, y, z;
  WholeProduct product;
};

constexpr std::size_t kFirst = 0, kMiddle = 16, kLast = 32, kInner = 33;

Cancelling cancelling(bool is_single, std::int64_t columns, const std::vector<int>& exponents) {
  Cancelling made{{}, {}, {}, {"", 37, columns, kInner, {}, {}, {}, is_single}};
  WholeProduct& product = made.product;
  const auto number = [&](std::uint64_t seed, std::size_t i) {
    return rounded(static_cast<double>(scattered(seed, i)) * 0x1p-64 + 0.5, is_single);
  };
  product.a.assign(size_of(product.m, product.k), 0.0);
  product.b.assign(size_of(product.n, product.k), 0.0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(product.m); ++i) {
    made.factors.push_back(std::ldexp(1.0, exponents[i % exponents.size()]));
    made.y.push_back(number(1, i));
    double* row = product.a.data() + i * kInner;
    row[kFirst] = made.factors[i], row[kMiddle] = made.y[i], row[kLast] = -made.factors[i];
  }
  for (std::size_t j = 0; j < static_cast<std::size_t>(product.n); ++j) {
    made.z.push_back(number(2, j));
    double* column = product.b.data() + j * kInner;
    column[kFirst] = column[kLast] = rounded(made.z[j] + 1, is_single);
    column[kMiddle] = made.z[j];
  }
  return made;
}

double fused(double x, double y, double z, bool is_single) {
  return is_single ? static_cast<double>(std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)))
                   : std::fma(x, y, z);
}

}  // namespace

OperandView OperandMemory::at(const char* data) const {
  const std::int64_t entry = entry_bytes(type);
  return {data, type, outer, inner, is_across ? entry : inner * entry, is_across ? outer * entry : entry};
}

OperandMemory memory_of(const WholeProduct& product, bool is_right) {
  const ElementType type = product.type();
  OperandMemory made{{}, is_right ? product.n : product.m, product.k, type, is_right ? product.b_by_rows : product.a_by_columns};
  const std::vector<double>& lines = is_right ? product.b : product.a;
  const std::int64_t entry = entry_bytes(type);
  made.bytes.resize(lines.size() * static_cast<std::size_t>(entry));
  for (std::int64_t i = 0; i < made.outer; ++i) {
    for (std::int64_t k = 0; k < made.inner; ++k) {
      char* place = made.bytes.data() + entry * (made.is_across ? k * made.outer + i : i * made.inner + k);
      with_float(type, [&](auto zero) {
        store(place, static_cast<decltype(zero)>(lines[size_of(i, made.inner) + static_cast<std::size_t>(k)]));
      });
    }
  }
  return made;
}

std::vector<char> memory_of_result(const WholeProduct& product) {
  return std::vector<char>(product.expected.size() * static_cast<std::size_t>(entry_bytes(product.type())), char(0xFF));
}

std::vector<double> numbers_in(const std::vector<char>& memory, ElementType type) {
  std::vector<double> numbers;
  for (const char* at = memory.data(); at != memory.data() + memory.size(); at += entry_bytes(type)) {
    numbers.push_back(with_float(type, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(at)); }));
  }
  return numbers;
}

std::vector<WholeProduct> whole_products(bool is_short, bool is_single, std::int64_t most_inner) {
  // The long K is for outputs of few tiles: a GPU cuts it into ranges.
  constexpr Shape kShapes[] = {{19, 700, 23}, {1, 1, 1}, {70, 129, 33}, {9, 9000, 140}, {300, 65, 270}};
  std::vector<WholeProduct> found;
  for (const Shape& shape : kShapes) {
    if (shape.k <= most_inner) found.push_back(make_whole("whole product", shape, is_single));
    if (is_short) break;
  }
  return found;
}

std::vector<WholeProduct> number_products(bool is_short, bool is_single) {
  std::vector<Shape> shapes{{5, 7, 35}, {6, 301, 33}};
  if (!is_short) shapes = {{5, 7, 35}, {1, 1, 1}, {70, 129, 33}, {6, 1201, 33}};
  std::vector<WholeProduct> found;
  for (const Shape& shape : shapes) {
    found.push_back(make_whole("numbers", shape, is_single));
    found.push_back(transposed(found.back()));
    found.back().b_by_rows = true;
  }
  return found;
}

std::vector<WholeProduct> thin_products(bool is_single) {
  constexpr Shape kShapes[] = {{1, 1, 1}, {70, 129, 2}, {300, 65, 8}, {19, 2500, 3}, {9, 8000, 8}, {33, 8192, 1}};
  std::vector<WholeProduct> found;
  for (const Shape& shape : kShapes) {
    WholeProduct product = make_whole("few lines", shape, is_single), turned = transposed(product);
    found.insert(found.end(), {product, turned});
    product.a_by_columns = turned.b_by_rows = true;
    product.name += " by columns";
    turned.name += " by rows";
    found.insert(found.end(), {product, turned});
  }
  return found;
}

std::vector<WholeProduct> tile_products(std::int64_t most_inner) {
  const Shape shapes[] = {{1, 1, 1},      {64, most_inner, 64}, {70, most_inner - 1, 130}, {150, 17, 33}, {40, 128, 100},
                          {900, 63, 801}, {901, 128, 800}};
  std::vector<WholeProduct> found;
  for (const Shape& shape : shapes) {
    found.push_back(make_whole("tiles", shape, false));
    found.push_back(found.back());
    found.back().a_by_columns = true;
    found.back().name += " by columns";
  }
  return found;
}

WholeProduct repaired_product(bool is_single) {
  const Cancelling made = cancelling(is_single, 70, {30, is_single ? 100 : 600});
  WholeProduct product = made.product;
  product.name = named("repaired product", product);
  product.accuracy = Accuracy::correct;
  for (const double y : made.y) {
    for (const double z : made.z) product.expected.push_back(rounded(y * z, is_single));
  }
  return product;
}

WholeProduct chained_product(bool is_single, std::int64_t columns) {
  constexpr std::size_t kOfA = 5, kOfB = 20;  // places of the largest entries
  const Cancelling made = cancelling(is_single, columns, {0, 30, is_single ? 100 : 600});
  WholeProduct product = made.product;
  product.name = named("chained product", product);
  product.accuracy = Accuracy::standard;
  const double largest = is_single ? 0x1p120 : 0x1p700;
  for (std::size_t i = 0; i < made.y.size(); ++i) product.a[i * kInner + kOfA] = largest;
  for (std::size_t j = 0; j < made.z.size(); ++j) product.b[j * kInner + kOfB] = largest;
  for (std::size_t i = 0; i < made.y.size(); ++i) {
    for (std::size_t j = 0; j < made.z.size(); ++j) {
      const double factor = made.factors[i], w = product.b[j * kInner + kFirst];
      product.expected.push_back(fused(-factor, w, fused(made.y[i], made.z[j], factor * w, is_single), is_single));
    }
  }
  return product;
}

std::vector<WholeProduct> long_products() {
  constexpr std::int64_t kHalf = 150;
  const auto number = [](std::uint64_t seed, std::int64_t line, std::int64_t place, int deepest) {  // an odd integer of 53 bits
    const std::uint64_t found =
        scattered(seed, static_cast<std::uint64_t>(line * kHalf + place)) >> 11 | std::uint64_t(1) << 52 | 1;
    return std::ldexp(static_cast<double>(found), static_cast<int>(place * 5 % (deepest + 1)));
  };
  std::vector<WholeProduct> found;
  for (const int depth : {53, 7}) {
    WholeProduct product{"", 19, 23, 2 * kHalf, {}, {}, {}};
    product.name = named("long lines", product) + " by " + std::to_string(53 + depth) + " bits";
    product.accuracy = Accuracy::correct;
    for (std::int64_t i = 0; i < product.m; ++i) {
      for (std::int64_t p = 0; p < 2 * kHalf; ++p) {
        const double x = number(1, i, p % kHalf, 53);
        product.a.push_back(p < kHalf || p == 2 * kHalf - 1 ? x : -x);
      }
    }
    for (std::int64_t j = 0; j < product.n; ++j) {
      for (std::int64_t p = 0; p < 2 * kHalf; ++p) product.b.push_back(number(2, j, p % kHalf, depth));
    }
    for (std::int64_t i = 0; i < product.m; ++i) {
      for (std::int64_t j = 0; j < product.n; ++j) {
        product.expected.push_back(2 * (number(1, i, kHalf - 1, 53) * number(2, j, kHalf - 1, depth)));
      }
    }
    found.push_back(std::move(product));
  }
  return found;
}

}  // namespace ozfp4::product
