// Products of operands that ozfp4_cuda_prepare made have the bits of the functions without "cuda": either side or both, any
// number of products, after the matrix has changed, on other streams; an operand takes as much memory as it says.
#include <ozfp4.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <string>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

namespace {

struct Case {
  const Type& type;
  int order, transa, transb;
  std::int64_t m, n, k, gap;
  std::complex<double> alpha, beta;
  int accuracy;
  bool has_a, has_b;  // are prepared
  bool has_bounds = false;

  std::string text() const {
    return text_of(type.name, {order, transa, transb, m, n, k, gap, accuracy, has_a, has_b}) + text_of(alpha) + text_of(beta) +
           (has_bounds ? " bounds" : "");
  }
};

// A matrix of a product: where it lies on the host and on the device.
struct Given {
  bool is_a;
  int trans;
  std::int64_t rows, columns, leading;
  Bytes here;
  Device there;

  Given(const Case& own, bool is_left)
      : is_a(is_left),
        trans(is_left ? own.transa : own.transb),
        rows(is_left ? own.m : own.k),
        columns(is_left ? own.k : own.n),
        leading(leading_of(own.order, trans, rows, columns, own.gap)),
        here(numbers(own.type, leading * (std::max(rows, columns) + 1), false)),
        there(here) {}

  ozfp4_side side() const { return is_a ? OZFP4_LEFT : OZFP4_RIGHT; }
};

// Prepared on the host.
struct OnHost {
  ozfp4_prepared* made = nullptr;
  OnHost(const Case& own, const Given& x, const ozfp4_options& options) {
    const ozfp4_status status =
        ozfp4_prepare(own.type.type, x.side(), own.order, x.trans, x.rows, x.columns, x.here.data(), x.leading, &options, &made);
    report(own.text() + " prepared on the host", status == OZFP4_OK, ozfp4_last_error());
  }
  OnHost(const OnHost&) = delete;
  ~OnHost() { ozfp4_release(made); }
};

// Prepared on the device, on a stream, in memory that is as large as the query says.
struct OnDevice {
  std::unique_ptr<Workspace> memory;
  ozfp4_cuda_prepared* made = nullptr;
  OnDevice(const Case& own, const Given& x, const ozfp4_options& options, cudaStream_t stream = nullptr) {
    const std::string name = own.text() + (x.is_a ? " A" : " B");
    std::int64_t bytes = -1;
    if (!report(name + " memory",
                ozfp4_cuda_prepared_size(own.type.type, x.side(), own.order, x.trans, x.rows, x.columns, x.there.data, x.leading,
                                         &options, &bytes) == OZFP4_OK &&
                    bytes >= 0,
                ozfp4_last_error())) {
      return;
    }
    memory = std::make_unique<Workspace>(bytes);
    const auto prepare = [&](std::int64_t given) {
      return ozfp4_cuda_prepare(own.type.type, x.side(), own.order, x.trans, x.rows, x.columns, x.there.data, x.leading,
                                memory->memory.data, given, stream, &options, &made);
    };
    if (bytes > 0) report(name + " a byte less", refused_for(bytes - 1, prepare) == bytes, ozfp4_last_error());
    report(name + " nothing", made == nullptr);
    report(name + " prepared", prepare(bytes) == OZFP4_OK && made != nullptr, ozfp4_last_error());
    REQUIRE(cudaStreamSynchronize(stream));
    report(name + " guard", memory->is_guarded());
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { ozfp4_cuda_release(made); }
};

ozfp4_options options_of(const Case& own) {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = own.accuracy;
  return options;
}

void check_product(const Case& own, const Given& a, const Given& b, const OnDevice* prepared_a, const OnDevice* prepared_b,
                   const OnHost* host_a, const OnHost* host_b, const std::string& further = "") {
  const std::string name = own.text() + further;
  const std::int64_t most = std::max(own.m, own.n) + 1;
  const std::int64_t ldc = leading_of(own.order, kNone, own.m, own.n, own.gap);
  Bytes c = numbers(own.type, ldc * most, false), bound;
  ozfp4_options options = options_of(own);
  if (own.has_bounds) {
    options.ld_bound = ldc + 1;
    bound = bounds(own.type, options.ld_bound * most);
  }
  const Device c_there(c), bound_there(bound);
  std::vector<Written> results{{c_there, c}};
  if (own.has_bounds) results.push_back({bound_there, bound});
  const auto bounds_at = [&](const char* place) {
    if (own.has_bounds) options.bound = reinterpret_cast<double*>(const_cast<char*>(place));
  };
  bounds_at(bound_there.data);
  const Factor alpha(own.type, own.alpha), beta(own.type, own.beta);
  const ozfp4_cuda_prepared *made_a = prepared_a ? prepared_a->made : nullptr, *made_b = prepared_b ? prepared_b->made : nullptr;
  compare(
      name,
      [&](std::int64_t* bytes) {
        return ozfp4_cuda_workspace_size_gemm_prepared(
            own.order, own.transa, own.transb, own.m, own.n, own.k, alpha.at, made_a ? nullptr : a.there.data, a.leading, made_a,
            made_b ? nullptr : b.there.data, b.leading, made_b, beta.at, c_there.data, ldc, &options, bytes);
      },
      [&](char* workspace, std::int64_t bytes) {
        return ozfp4_cuda_gemm_prepared(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha.at,
                                        made_a ? nullptr : a.there.data, a.leading, made_a, made_b ? nullptr : b.there.data,
                                        b.leading, made_b, beta.at, c_there.data, ldc, workspace, bytes, nullptr, &options);
      },
      [&] {
        bounds_at(bound.data());
        return ozfp4_gemm_prepared(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha.at,
                                   host_a ? nullptr : a.here.data(), a.leading, host_a ? host_a->made : nullptr,
                                   host_b ? nullptr : b.here.data(), b.leading, host_b ? host_b->made : nullptr, beta.at,
                                   c.data(), ldc, &options);
      },
      results);
}

void check_case(const Case& own) {
  const Given a(own, true), b(own, false);
  const ozfp4_options options = options_of(own);
  std::unique_ptr<OnDevice> prepared_a, prepared_b;
  std::unique_ptr<OnHost> host_a, host_b;
  if (own.has_a) {
    prepared_a = std::make_unique<OnDevice>(own, a, options);
    host_a = std::make_unique<OnHost>(own, a, options);
  }
  if (own.has_b) {
    prepared_b = std::make_unique<OnDevice>(own, b, options);
    host_b = std::make_unique<OnHost>(own, b, options);
  }
  if (own.has_a) a.there.write(Bytes(a.here.size(), static_cast<char>(kPoison)));  // its copy is what is multiplied
  if (own.has_b) b.there.write(Bytes(b.here.size(), static_cast<char>(kPoison)));
  check_product(own, a, b, prepared_a.get(), prepared_b.get(), host_a.get(), host_b.get());
}

// One operand, many products: other extents, factors and matrices.
void check_many(const Type& type) {
  const Case first{type, kRows, kNone, kTrans, 40, 50, 300, 1, 1.0, 0.0, kStandard, false, true};
  const Given b(first, false);
  const ozfp4_options options = options_of(first);
  const OnDevice prepared(first, b, options);
  const OnHost on_host(first, b, options);
  for (const std::int64_t m : {1, 7, 64, 500}) {
    for (const double beta : {0.0, -1.5}) {
      Case own{type, first.order, first.transa, first.transb, m, first.n, first.k, 1, 1.0, beta, first.accuracy, false, true};
      const Given a(own, true);
      check_product(own, a, b, nullptr, &prepared, nullptr, &on_host, " many");
    }
  }
}

// Prepared on one stream, multiplied on another behind an event, as a graph that is launched twice.
void check_streams(const Type& type) {
  const Case own{type, kColumns, kNone, kNone, 90, 80, 200, 0, 1.0, 0.0, kStandard, true, true};
  const Given a(own, true), b(own, false);
  const ozfp4_options options = options_of(own);
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  REQUIRE(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreate(&event));
  {
    const OnDevice prepared_a(own, a, options, first), prepared_b(own, b, options, first);
    REQUIRE(cudaEventRecord(event, first));
    REQUIRE(cudaStreamWaitEvent(second, event, 0));
    const Factor alpha(type, 1.0), beta(type, 0.0);
    std::int64_t bytes = 0;
    Bytes noise = numbers(type, own.m * own.n, false);
    const Device c(noise);
    report("streams workspace",
           ozfp4_cuda_workspace_size_gemm_prepared(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha.at, nullptr, 1,
                                                   prepared_a.made, nullptr, 1, prepared_b.made, beta.at, c.data, own.m, &options,
                                                   &bytes) == OZFP4_OK,
           ozfp4_last_error());
    const Workspace workspace(bytes);
    const auto multiply = [&] {
      report("streams status",
             ozfp4_cuda_gemm_prepared(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha.at, nullptr, 1,
                                      prepared_a.made, nullptr, 1, prepared_b.made, beta.at, c.data, own.m, workspace.memory.data,
                                      bytes, second, &options) == OZFP4_OK,
             ozfp4_last_error());
    };
    multiply();
    const Bytes found = c.read(noise.size());
    check_replays("streams", second, {c, noise}, found, multiply);
    Bytes expected = noise;
    const OnHost host_a(own, a, options), host_b(own, b, options);
    const ozfp4_status status =
        ozfp4_gemm_prepared(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha.at, nullptr, 1, host_a.made, nullptr, 1,
                            host_b.made, beta.at, expected.data(), own.m, &options);
    report("streams", status == OZFP4_OK && found == expected, difference(found, expected));
  }
  REQUIRE(cudaEventDestroy(event));
  REQUIRE(cudaStreamDestroy(first));
  REQUIRE(cudaStreamDestroy(second));
}

// What an operand was not prepared for.
void check_refusals() {
  const Case own{kTypes[2], kRows, kNone, kNone, 4, 5, 6, 0, 1.0, 0.0, kStandard, true, true};
  const Given a(own, true), b(own, false);
  const ozfp4_options options = options_of(own);
  const OnDevice left(own, a, options), right(own, b, options);
  ozfp4_options other = options;
  other.accuracy = kCorrect;
  const OnDevice correct(own, b, other);
  const Bytes noise = numbers(own.type, 40, false);
  const Device c(noise);
  const Workspace workspace(1 << 20);
  const Factor one(own.type, 1.0), turned(own.type, {0.0, 1.0});
  const auto refused = [&](const char* text, ozfp4_status expected, const OnDevice* x, const OnDevice* y, const Factor& alpha,
                           int order, std::int64_t k, const ozfp4_options& asked) {
    const ozfp4_status status = ozfp4_cuda_gemm_prepared(
        order, kNone, kNone, 4, 5, k, alpha.at, x ? nullptr : a.there.data, 6, x ? x->made : nullptr, y ? nullptr : b.there.data,
        5, y ? y->made : nullptr, one.at, c.data, 5, workspace.memory.data, 1 << 20, nullptr, &asked);
    report(text, status == expected && std::string(ozfp4_last_error()).find(text) == 0 && c.read(noise.size()) == noise,
           ozfp4_last_error());
  };
  const int rows = kRows;
  refused("prepared_a: is NULL, and so is prepared_b", OZFP4_INVALID_ARGUMENT, nullptr, nullptr, one, rows, 6, options);
  refused("prepared_a: it was prepared for the other side", OZFP4_INVALID_ARGUMENT, &right, nullptr, one, rows, 6, options);
  refused("prepared_a: it was prepared with another order", OZFP4_INVALID_ARGUMENT, &left, nullptr, one, kColumns, 6, options);
  refused("prepared_a: it is 4 x 6, this product needs 4 x 7", OZFP4_INVALID_ARGUMENT, &left, nullptr, one, rows, 7, options);
  refused("prepared_b: it was prepared for another type, plan or accuracy", OZFP4_INVALID_ARGUMENT, &left, &correct, one, rows, 6,
          options);
  refused("options.accuracy: it is not what the operand was prepared for", OZFP4_INVALID_ARGUMENT, &left, nullptr, one, rows, 6,
          other);
  refused("alpha: it is imaginary, and both operands are prepared as they are", OZFP4_INVALID_ARGUMENT, &left, &right, turned,
          rows, 6, options);
}

void check_type(const Type& type) {
  const std::complex<double> i(0, 1);
  for (const auto& [has_a, has_b] : {std::make_pair(true, false), {false, true}, {true, true}}) {
    for (const int order : kOrders) {
      for (const int transa : kTransposes) {
        for (const int transb : kTransposes) {
          check_case({type, order, transa, transb, 33, 70, 129, 1, 1.0, 0.0, kDefault, has_a, has_b});
          check_case({type, order, transa, transb, 64, 5, 40, 0, -0.5, 2.0, kCorrect, has_a, has_b});
        }
      }
      for (const std::complex<double> alpha : {std::complex<double>(-1), i, {1.0, 1.0}, {2.0, -0.5}}) {
        if (!type.is_complex || (alpha == i && has_a && has_b)) continue;  // what is multiplied by i is not prepared
        for (const std::complex<double> beta : {std::complex<double>(0), std::complex<double>(1), i, {-3.0, 0.25}}) {
          for (const int accuracy : kAccuracies) {
            check_case({type, order, kNone, kConj, 40, 30, 50, 1, alpha, beta, accuracy, has_a, has_b});
            check_case({type, order, kTrans, kNone, 5, 9, 0, 0, alpha, beta, accuracy, has_a, has_b});
          }
        }
      }
    }
    for (const int accuracy : kAccuracies) {
      check_case({type, kColumns, kTrans, kNone, 150, 131, 600, 3, 1.0, 0.0, accuracy, has_a, has_b, true});
      check_case({type, kRows, kNone, kTrans, 515, 390, 2050, 0, 1.0, 0.0, accuracy, has_a, has_b});
      for (const std::int64_t k : {0, 1, 5000}) {
        for (const double beta : {0.0, 1.0}) {
          check_case({type, kColumns, kNone, kTrans, 13, 67, k, 0, 2.0, beta, accuracy, has_a, has_b});
        }
      }
    }
    for (const std::int64_t m : {0, 1, 2}) {
      for (const std::int64_t n : {0, 1, 2}) {
        for (const int order : kOrders) {
          for (const std::int64_t gap : {0, 1}) {
            check_case({type, order, kNone, kTrans, m, n, 20, gap, 1.0, 1.0, kDefault, has_a, has_b});
            check_case({type, order, kTrans, kNone, m, n, 1, gap, 1.0, 0.0, kDefault, has_a, has_b});
          }
        }
      }
    }
  }
  check_many(type);
  check_streams(type);
}

}  // namespace

int main() {
  require_gpu();
  check_refusals();
  for (const Type& type : kTypes) check_type(type);
  return finish();
}
