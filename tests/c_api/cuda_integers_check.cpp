// ozfp4_cuda_igemm, its like and ozfp4_cuda_gemm_mod have the bits of the functions without "cuda": every type beside every
// other, their extreme entries, factors, gaps; and they tell how many entries did not fit.
#include <ozfp4.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

namespace {

struct Integer {
  ozfp4_type type;
  int bytes;
  bool is_signed;
  const char* name;
};
constexpr Integer kIntegers[] = {{OZFP4_INT8, 1, true, "i8"},     {OZFP4_INT16, 2, true, "i16"},  {OZFP4_INT32, 4, true, "i32"},
                                 {OZFP4_INT64, 8, true, "i64"},   {OZFP4_UINT8, 1, false, "u8"},  {OZFP4_UINT16, 2, false, "u16"},
                                 {OZFP4_UINT32, 4, false, "u32"}, {OZFP4_UINT64, 8, false, "u64"}};
const Integer &kInt8 = kIntegers[0], &kInt32 = kIntegers[2], &kInt64 = kIntegers[3], &kUint64 = kIntegers[7];

// What entries are: of all bits, the least and the largest ones, or of few bits.
enum class Entries { all, extreme, few };

struct Case {
  const Integer &type_a, &type_b, &type_c;
  int order, transa, transb;
  std::int64_t m, n, k, gap;
  std::int64_t alpha, beta;
  std::int64_t modulus;  // 0: none
  Entries entries;

  std::string text() const {
    return text_of(std::string(type_a.name) + " " + type_b.name + " " + type_c.name,
                   {order, transa, transb, m, n, k, gap, alpha, beta, modulus, static_cast<int>(entries)});
  }
};

Bytes integers(const Integer& type, std::int64_t count, Entries entries) {
  Bytes bytes(static_cast<std::size_t>(count * type.bytes));
  const int bits = 8 * type.bytes;
  const std::uint64_t least = type.is_signed ? std::uint64_t(1) << (bits - 1) : 0, largest = least - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t x = generator();
    if (entries == Entries::extreme) x = x % 2 == 0 ? least : largest;
    if (entries == Entries::few) x = static_cast<std::uint64_t>(std::int64_t(random_int(type.is_signed ? -3 : 0, 5)));
    std::memcpy(&bytes[static_cast<std::size_t>(i * type.bytes)], &x, static_cast<std::size_t>(type.bytes));
  }
  return bytes;
}

struct Places {
  const char *a, *b;
  char* c;
  std::int64_t lda, ldb, ldc;
};

// `workspace` null: on the host.
ozfp4_status multiply(const Case& own, const Places& p, char* workspace, std::int64_t bytes, const ozfp4_options* options) {
  if (own.modulus != 0) {
    auto* const c = reinterpret_cast<std::int64_t*>(p.c);
    if (workspace == nullptr) {
      return ozfp4_gemm_mod(own.order, own.transa, own.transb, own.m, own.n, own.k, own.type_a.type, p.a, p.lda, own.type_b.type,
                            p.b, p.ldb, own.modulus, c, p.ldc, options);
    }
    return ozfp4_cuda_gemm_mod(own.order, own.transa, own.transb, own.m, own.n, own.k, own.type_a.type, p.a, p.lda,
                               own.type_b.type, p.b, p.ldb, own.modulus, c, p.ldc, workspace, bytes, nullptr, options);
  }
  if (workspace == nullptr) {
    return ozfp4_igemm(own.order, own.transa, own.transb, own.m, own.n, own.k, own.alpha, own.type_a.type, p.a, p.lda,
                       own.type_b.type, p.b, p.ldb, own.beta, own.type_c.type, p.c, p.ldc, options);
  }
  return ozfp4_cuda_igemm(own.order, own.transa, own.transb, own.m, own.n, own.k, own.alpha, own.type_a.type, p.a, p.lda,
                          own.type_b.type, p.b, p.ldb, own.beta, own.type_c.type, p.c, p.ldc, workspace, bytes, nullptr, options);
}

ozfp4_status query(const Case& own, const Places& p, const ozfp4_options* options, std::int64_t* bytes) {
  if (own.modulus != 0) {
    return ozfp4_cuda_workspace_size_gemm_mod(own.order, own.transa, own.transb, own.m, own.n, own.k, own.type_a.type, p.a, p.lda,
                                              own.type_b.type, p.b, p.ldb, own.modulus,
                                              reinterpret_cast<const std::int64_t*>(p.c), p.ldc, options, bytes);
  }
  return ozfp4_cuda_workspace_size_igemm(own.order, own.transa, own.transb, own.m, own.n, own.k, own.alpha, own.type_a.type, p.a,
                                         p.lda, own.type_b.type, p.b, p.ldb, own.beta, own.type_c.type, p.c, p.ldc, options,
                                         bytes);
}

// `counts`: how many entries do not fit is looked at, too.
void check_case(const Case& own, bool counts = false, int backend = OZFP4_BACKEND_AUTO) {
  const std::string name = own.text() + (counts ? " counted" : "") + " backend " + std::to_string(backend);
  Places on_host{nullptr,
                 nullptr,
                 nullptr,
                 leading_of(own.order, own.transa, own.m, own.k, own.gap),
                 leading_of(own.order, own.transb, own.k, own.n, own.gap),
                 leading_of(own.order, kNone, own.m, own.n, own.gap)};
  const std::int64_t most = std::max({own.m, own.n, own.k}) + 3;
  const Bytes a = integers(own.type_a, on_host.lda * most, own.entries);
  const Bytes b = integers(own.type_b, on_host.ldb * most, own.entries);
  Bytes c = integers(own.type_c, on_host.ldc * most, Entries::all), count(8, static_cast<char>(kPoison));
  const Device a_there(a), b_there(b), c_there(c), count_there(count);
  const Places on_device{a_there.data, b_there.data, c_there.data, on_host.lda, on_host.ldb, on_host.ldc};
  on_host.a = a.data();
  on_host.b = b.data();
  on_host.c = c.data();
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.backend = backend;
  if (counts) options.overflows = reinterpret_cast<std::int64_t*>(count_there.data);
  std::vector<Written> results{{c_there, c}};
  if (counts) results.push_back({count_there, count});
  compare(
      name, [&](std::int64_t* bytes) { return query(own, on_device, &options, bytes); },
      [&](char* workspace, std::int64_t bytes) { return multiply(own, on_device, workspace, bytes, &options); },
      [&] {
        ozfp4_report about = {};
        about.size = sizeof about;
        ozfp4_options asked = OZFP4_OPTIONS_INIT;
        if (counts) asked.report = &about;
        const ozfp4_status status = multiply(own, on_host, nullptr, 0, &asked);
        if (counts) std::memcpy(count.data(), &about.overflows, 8);
        return status;
      },
      results);
}

// The functions of given types are the general one.
template <class T, class Result, class Function>
void check_typed(const Integer& type, const Integer& type_c, const Function& function) {
  constexpr std::int64_t m = 31, n = 18, k = 70;
  const Bytes a = integers(type, m * k, Entries::all), b = integers(type, k * n, Entries::all);
  Bytes c = integers(type_c, m * n, Entries::all);
  const Device a_there(a), b_there(b), c_there(c);
  compare(
      std::string("typed ") + type.name,
      [&](std::int64_t* bytes) {
        return ozfp4_cuda_workspace_size_igemm(kRows, kNone, kNone, m, n, k, -3, type.type, a_there.data, k, type.type,
                                               b_there.data, n, 7, type_c.type, c_there.data, n, nullptr, bytes);
      },
      [&](char* workspace, std::int64_t bytes) {
        return function(kRows, kNone, kNone, m, n, k, -3, reinterpret_cast<const T*>(a_there.data), k,
                        reinterpret_cast<const T*>(b_there.data), n, 7, reinterpret_cast<Result*>(c_there.data), n, workspace,
                        bytes, nullptr, nullptr);
      },
      [&] {
        return ozfp4_igemm(kRows, kNone, kNone, m, n, k, -3, type.type, a.data(), k, type.type, b.data(), n, 7, type_c.type,
                           c.data(), n, nullptr);
      },
      {{c_there, c}});
}

void check_types() {
  for (const Integer& type_a : kIntegers) {
    for (const Integer& type_b : kIntegers) {
      for (const Integer& type_c : kIntegers) {
        check_case({type_a, type_b, type_c, kColumns, kNone, kTrans, 37, 22, 65, 1, 1, 0, 0, Entries::all});
      }
      check_case({type_a, type_b, kInt64, kRows, kTrans, kNone, 21, 50, 33, 3, 1, 0, 1000003, Entries::all});
    }
    for (const Entries entries : {Entries::all, Entries::extreme, Entries::few}) {
      check_case({type_a, type_a, type_a, kRows, kNone, kNone, 70, 67, 300, 0, 1, 0, 0, entries}, true);
      check_case({type_a, type_a, kInt64, kRows, kNone, kNone, 15, 30, 2000, 0, 1, 0, 0, entries}, true);
    }
  }
  check_typed<std::int8_t, std::int32_t>(kInt8, kInt32, ozfp4_cuda_gemm_i8i8i32);
  check_typed<std::int32_t, std::int64_t>(kInt32, kInt64, ozfp4_cuda_gemm_i32i32i64);
  check_typed<std::int64_t, std::int64_t>(kInt64, kInt64, ozfp4_cuda_gemm_i64i64i64);
}

void check_shapes(const Integer& type) {
  for (const int order : kOrders) {
    for (const int transa : {kNone, kTrans}) {
      for (const int transb : {kNone, kConj}) {
        for (const std::int64_t gap : {0, 1, 5}) {
          check_case({type, type, type, order, transa, transb, 45, 130, 71, gap, 1, 0, 0, Entries::all});
          check_case({type, type, kInt64, order, transa, transb, 16, 32, 64, gap, 1, 0, 97, Entries::extreme});
        }
      }
    }
  }
  for (const std::int64_t alpha : {0, 1, -1, 3}) {
    for (const std::int64_t beta : {0, 1, -2}) {
      for (const std::int64_t k : {0, 1, 90}) {
        check_case({type, type, type, kRows, kNone, kTrans, 33, 41, k, 1, alpha, beta, 0, Entries::all});
      }
    }
  }
  for (const std::int64_t m : {0, 1, 3}) {
    for (const std::int64_t n : {0, 1, 300}) {
      for (const std::int64_t k : {0, 1, 3000}) {
        check_case({type, type, type, kColumns, kTrans, kNone, m, n, k, 0, 1, 0, 0, Entries::all}, true);
        check_case({type, type, kInt64, kColumns, kTrans, kNone, m, n, k, 0, 1, 0, INT64_MAX, Entries::all});
      }
    }
  }
}

void check_larger() {
  for (const Integer* type : {&kInt8, &kInt64, &kUint64}) {
    for (const std::int64_t modulus : {std::int64_t(0), std::int64_t(1), std::int64_t(2), INT64_MAX}) {
      for (const int backend : {OZFP4_BACKEND_AUTO, OZFP4_BACKEND_INT8, OZFP4_BACKEND_FP4}) {
        check_case({*type, *type, kInt64, kRows, kNone, kNone, 515, 390, 1030, 1, 1, 0, modulus, Entries::extreme}, false,
                   backend);
      }
    }
  }
}

// On another stream, and in a graph, by stages and without planes.
void check_streams() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const std::int64_t extent : {24, 400}) {
    for (const Integer* type : {&kInt8, &kInt64}) {
      const Bytes a = integers(*type, extent * extent, Entries::all), b = integers(*type, extent * extent, Entries::all);
      Bytes noise = integers(kInt64, extent * extent, Entries::all);
      const Device a_there(a), b_there(b), c_there(noise);
      const std::string name = std::string("a stream ") + type->name + " " + std::to_string(extent);
      std::int64_t bytes = 0;
      report(name + " workspace",
             ozfp4_cuda_workspace_size_igemm(kColumns, kNone, kNone, extent, extent, extent, 5, type->type, a_there.data, extent,
                                             type->type, b_there.data, extent, 0, OZFP4_INT64, c_there.data, extent, nullptr,
                                             &bytes) == OZFP4_OK,
             ozfp4_last_error());
      const Workspace workspace(bytes);
      const auto multiply = [&] {
        report(name,
               ozfp4_cuda_igemm(kColumns, kNone, kNone, extent, extent, extent, 5, type->type, a_there.data, extent, type->type,
                                b_there.data, extent, 0, OZFP4_INT64, c_there.data, extent, workspace.memory.data, bytes, stream,
                                nullptr) == OZFP4_OK,
               ozfp4_last_error());
      };
      multiply();
      const Bytes found = c_there.read(noise.size());
      check_replays(name, stream, {c_there, noise}, found, multiply);
      Bytes expected = noise;
      const ozfp4_status status = ozfp4_igemm(kColumns, kNone, kNone, extent, extent, extent, 5, type->type, a.data(), extent,
                                              type->type, b.data(), extent, 0, OZFP4_INT64, expected.data(), extent, nullptr);
      report(name + " on the host", status == OZFP4_OK && expected == found, difference(found, expected));
    }
  }
  REQUIRE(cudaStreamDestroy(stream));
}

}  // namespace

int main() {
  require_gpu();
  check_types();
  for (const Integer& type : kIntegers) check_shapes(type);
  check_larger();
  check_streams();
  return finish();
}
