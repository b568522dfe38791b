// Refusals of products on a GPU by check_matmul, with their reasons; nothing right is refused. A forced kernel, tile or split
// comes out as it was asked for, or is refused by name.
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "check.hpp"
#include "cuda/matmul.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr Kernel kKernel = Kernel::mma_copy;  // in every build

// The capability that this build holds the kernel for.
Gpu gpu_of_the_build() { return {held_capabilities()[0], 132}; }

// A product and everything that may be changed before it is checked.
struct Product {
  CudaPlan plan;
  CudaProduct product;
  CudaLayout layout;
  Gpu gpu = gpu_of_the_build();
};

Product make_product(const PlanRequest& request, int m, int n, int k, std::int64_t cap = INT64_MAX, const Promise& promise = {}) {
  Product p;
  p.plan = make_cuda_plan(request.scheme == Scheme::integer ? make_int8_matmul_plan(6) : make_plan(request), k, kKernel, promise);
  const bool is_integer = p.plan.integer;
  const ElementType type = is_integer ? ElementType::int8 : promise.has_integers ? ElementType::int64 : ElementType::float64;
  const std::int64_t entry = is_integer ? 1 : 8;
  p.product.a = {nullptr, type, m, k, k * entry, entry, {}};
  p.product.b = {nullptr, type, n, k, entry, n * entry, {}};
  p.product.result.type = is_integer ? ElementType::int32 : type;
  p.product.result.rows = m;
  p.product.result.columns = n;
  p.product.result.column_stride = is_integer ? 4 : 8;
  p.product.result.row_stride = (n + n % 2) * p.product.result.column_stride;
  p.layout = make_layout(p.plan, p.product, p.gpu, cap);
  return p;
}

// Why a call is refused; "" where it is not.
template <class Call>
std::string reason_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of(const Product& p) {
  return reason_of([&] { check_matmul(p.plan, p.layout, p.product, p.plan.schedule.steps.data(), p.gpu); });
}

void check_reason(const std::string& part, const std::string& found) {
  report(part, found.find(part) != std::string::npos, "but: '" + found + "'");
}

const PlanRequest kResidues{Scheme::two, Alphabet::int8, "least", 53, 1 << 20};
const PlanRequest kIntegers{Scheme::integer, Alphabet::fp4, "least", 8, 1000};

void check_right_products() {
  const PlanRequest requests[] = {kResidues,
                                  {Scheme::two, Alphabet::fp4, "least", 53, 1 << 20},
                                  {Scheme::two, Alphabet::fp4, "paper", 53, 1 << 14},
                                  {Scheme::one, Alphabet::int8, "least", 53, 1 << 14},
                                  {Scheme::one, Alphabet::fp4, "least", 24, 1 << 14},
                                  {Scheme::two, Alphabet::int8, "least", 76, 1 << 20},
                                  {Scheme::two, Alphabet::fp4, "least", 76, 1 << 20},
                                  {Scheme::two, Alphabet::int8, "least", 160, 1 << 20},
                                  {Scheme::two, Alphabet::fp4, "least", 104, 1 << 20},
                                  {Scheme::one, Alphabet::int8, "least", 200, 1 << 14},
                                  {Scheme::one, Alphabet::fp4, "least", 200, 1 << 14}};
  for (const PlanRequest& request : requests) {
    const int extents[][3] = {{1, 1, 1}, {300, 17, 129}, {5000, 7, 1000}, {1000, 1000, 16384}};
    for (const auto& [m, n, k] : extents) {
      const Product whole = make_product(request, m, n, k);
      report("a right product", refusal_of(whole).empty(), refusal_of(whole));
      if (std::max(m, n) < 512) continue;
      const Product blocks = make_product(request, m, n, k, whole.layout.bytes / 2);
      report("it comes in blocks", blocks.layout.rows < m || blocks.layout.columns < n);
      report("a right product in blocks", refusal_of(blocks).empty(), refusal_of(blocks));
    }
  }
  for (const Accuracy accuracy : {Accuracy::standard, Accuracy::correct}) {
    const PlanRequest request{Scheme::two, Alphabet::int8, "least", accuracy_bits(Accuracy::correct, 53), 1 << 20};
    Promise promise;
    promise.accuracy = accuracy;
    const Product whole = make_product(request, 1000, 1000, 16384, INT64_MAX, promise);
    report("a right product that is certified", refusal_of(whole).empty(), refusal_of(whole));
    const Product blocks = make_product(request, 1000, 1000, 16384, whole.layout.bytes / 2, promise);
    report("a right product that is certified in blocks", refusal_of(blocks).empty(), refusal_of(blocks));
  }
  for (const int n : {1, 2, 33}) {
    Product p = make_product(kIntegers, 9, n, 70);
    report("a right product of bytes", refusal_of(p).empty(), refusal_of(p));
  }
}

Promise whole_promise(Second second = Second::none, std::uint64_t modulus = 0) {
  Promise promise;
  promise.second = second;
  promise.has_integers = true;
  promise.modulus = modulus;
  return promise;
}

const PlanRequest kWhole{Scheme::two, Alphabet::int8, "least", 64, 1 << 20};

// Products of integers, with operands that are any of 64 bits and results of any type.
void check_integers() {
  const PlanRequest fp4{Scheme::two, Alphabet::fp4, "least", 65, 1 << 20},
      small{Scheme::two, Alphabet::int8, "least", 8, 1 << 20};
  for (const PlanRequest& request : {kWhole, fp4, small}) {
    for (const Promise& promise : {whole_promise(), whole_promise(Second::overflows), whole_promise(Second::none, 97)}) {
      Product p = make_product(request, 1000, 1000, 16384, INT64_MAX, promise);
      report("a right product of integers", refusal_of(p).empty(), refusal_of(p));
      report("it is scaled and encoded apart", !p.layout.scales_and_encodes);
      const Product blocks = make_product(request, 1000, 1000, 16384, p.layout.bytes / 2, promise);
      report("a right product of integers in blocks", refusal_of(blocks).empty(), refusal_of(blocks));
      p.product.b.type = ElementType::uint64;
      report("entries without a sign take three words", refusal_of(p).empty() == (request.bits > 62), refusal_of(p));
      p.product.b.type = ElementType::int64;
      p.product.result.type = ElementType::uint8;
      report("a result of another type", refusal_of(p).empty() == (promise.modulus == 0), refusal_of(p));
    }
  }
  const auto is_refused = [](const PlanRequest& request, const Promise& promise, const char* reason) {
    check_reason(reason, reason_of([&] { make_product(request, 9, 9, 9, INT64_MAX, promise); }));
  };
  is_refused({Scheme::one, Alphabet::int8, "least", 64, 9}, whole_promise(), "integers on a GPU are multiplied in scheme II");
  is_refused({Scheme::two, Alphabet::int8, "least", 90, 1 << 20}, whole_promise(Second::overflows),
             "where overflow is looked for");
  is_refused(kWhole, whole_promise(Second::none, std::uint64_t(1) << 63), "modulus: 1 to 2^63 - 1");
  is_refused(kWhole, whole_promise(Second::bound), "integers are not rounded");
  Promise real;
  real.modulus = 7;
  is_refused(kResidues, real, "modulus and overflows are for products of integers");
}

// Products of operands that are kept, with more lines than the product takes: whole, in blocks and in pieces of K.
void check_kept_products() {
  for (const Alphabet& alphabet : {Alphabet::int8, Alphabet::fp4}) {
    for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
      const PlanRequest request{Scheme::two, alphabet, "least", accuracy_bits(Accuracy::correct, 53), 1 << 20};
      Promise promise;
      promise.accuracy = accuracy;
      for (const int sides : {1, 2, 3}) {
        for (const int k : {1, 130, 9000, 100'000}) {
          Product p = make_product(request, 700, 500, k, INT64_MAX, promise);
          if ((sides & 1) != 0) p.product.stored_a = {nullptr, 764, 64, 1, 0};
          if ((sides & 2) != 0) p.product.stored_b = {nullptr, 1000, 128, 1, 0};
          const std::int64_t plain = p.layout.bytes;
          p.layout = make_layout(p.plan, p.product, p.gpu, INT64_MAX);
          report("a right product of what is kept", refusal_of(p).empty(), refusal_of(p));
          report("which takes less", p.layout.bytes < plain || k == 1);
          bool is_cut = false;
          for (std::int64_t cap = p.layout.bytes / 2; cap > 8 << 20; cap /= 2) {
            p.layout = make_layout(p.plan, p.product, p.gpu, cap);
            is_cut = is_cut || !p.layout.pieces.empty();
            report("in blocks and pieces", refusal_of(p).empty(), refusal_of(p));
          }
          report("in pieces", is_cut || k < 100'000 || sides == 3);  // it has a workspace without planes
        }
      }
    }
  }
}

void check_refusal(const PlanRequest& request, const std::string& part, const std::function<void(Product&)>& change,
                   const Promise& promise = {}) {
  Product p = make_product(request, 900, 700, 257, INT64_MAX, promise);
  change(p);
  check_reason(part, refusal_of(p));
}

void check_refusals() {
  check_refusal(kResidues, "scale: the operands must be float64 or float32",
                [](Product& p) { p.product.a.type = ElementType::int8; });
  check_refusal(kResidues, "the operands differ along K", [](Product& p) { p.product.b.inner = 1; });
  check_refusal(kResidues, "scale: the lines of all matrices", [](Product& p) {
    p.product.axes = {{1 << 22, 8, 0, 900 * 700 * 8}};
    p.layout.turns = {0, 1 << 22, 1};
  });
  check_refusal(kResidues, "scale: the integers must have 2 to 200 bits", [](Product& p) { p.plan.bits = 201; });
  check_refusal(kResidues, "scale: the integers have fewer bits than the accuracy may ask for",
                [](Product& p) { p.plan.promise.accuracy = Accuracy::correct; });
  check_refusal(kResidues, "encode: the pitch of a plane is below K", [](Product& p) { p.layout.k_pitch = 16; });
  check_refusal(kResidues, "encode: planes, their pitch and their strides must be multiples of 16 bytes",
                [](Product& p) { p.layout.b.planes += 8; });
  check_refusal(kResidues, std::string("multiply (") + kernel_name(kKernel) + "): output rows or matrices overlap",
                [](Product& p) { p.layout.out_pitch = 16; });
  check_refusal(kResidues, "the sum may exceed the INT32 accumulator",
                [](Product& p) { p.plan.schedule.product_bound = INT32_MAX; });
  check_refusal(kResidues, "the kernel needs compute capability 8.0 or later", [](Product& p) { p.gpu.capability = 75; });
  check_refusal(kResidues, "reconstruct: the result must be float64 or float32",
                [](Product& p) { p.product.result.type = ElementType::int8; });
  check_refusal(kIntegers, "result: its columns are 8 bytes apart", [](Product& p) { p.product.result.column_stride = 8; });
  check_refusal(kIntegers, "result: its matrices are 4 bytes apart along axis 0", [](Product& p) {
    p.product.axes = {{3, 1, 0, 4}};
    p.layout.turns = {0, 3, 1};
  });
  check_refusal(kIntegers, "pitch and stride of the output", [](Product& p) { p.product.result.row_stride += 4; });
  check_refusal(kResidues, "scale: the operands must be float64 or float32",
                [](Product& p) { p.product.a.type = ElementType::int64; });
  check_refusal(
      kWhole, "scale: the operands must be int64 or uint64", [](Product& p) { p.product.a.type = ElementType::float64; },
      whole_promise());
  check_refusal(
      kWhole, "reconstruct: the result must be of integers", [](Product& p) { p.product.result.type = ElementType::float64; },
      whole_promise());
}

void check_forced() {
  Product p = make_product({Scheme::two, Alphabet::int8, "least", 53, 5000}, 300, 200, 5000);
  const TileChoice chosen = p.layout.tile;
  const auto force = [&](const ForcedChoice& forced) {
    p.layout = make_layout(p.plan, p.product, p.gpu, INT64_MAX, forced);
    return p.layout.tile;
  };
  report("overlap unless forced", chosen.overlap_previous);
  for (const TileShape shape : kernel_tiles(kKernel)) {
    const std::string name = tile_geometry(shape).name;
    report(name + " by its name", tile_of(kKernel, name) == shape);
    for (const int splits : {1, 2, 3, 64}) {
      for (const bool overlap : {false, true}) {
        const TileChoice tile = force({shape, splits, overlap});
        report(name, tile.shape == shape && tile.splits == splits && tile.overlap_previous == overlap);
        report(name + " is taken", refusal_of(p).empty(), refusal_of(p));
      }
    }
    const TileChoice one = force({shape, {}, {}});
    report(name + ", the rest chosen", one.shape == shape && one.predicted_clocks >= chosen.predicted_clocks);
  }
  const TileChoice three = force({{}, 3, {}});
  report("splits, the rest chosen", three.splits == 3 && three.overlap_previous);
}

void check_forced_splits(const std::string& part, const Product& p, int splits, std::int64_t cap = INT64_MAX) {
  check_reason(part, reason_of([&] { make_layout(p.plan, p.product, p.gpu, cap, {{}, splits, {}}); }));
}

void check_forced_refusals() {
  check_reason("tile: '96x96'; the kernel 'warp s8 cp.async' has '128x256', ", reason_of([] { tile_of(kKernel, "96x96"); }));
  check_reason("tile: '256x192'; the kernel", reason_of([] { tile_of(kKernel, "256x192"); }));
  report("which has it", tile_of(Kernel::hopper, "256x192") == TileShape::m256n192);
  for (const int splits : {-1, 0, 65}) {
    const std::string part = "splits: " + std::to_string(splits) + "; this product takes 1 to 64";
    check_forced_splits(part, make_product(kResidues, 300, 200, 5000), splits);
  }
  check_forced_splits("splits: 2; this product takes 1 to 1", make_product(kIntegers, 300, 200, 5000), 2);
  const Product digits = make_product({Scheme::one, Alphabet::int8, "least", 53, 200000}, 20, 20, 200000);
  const int least = digits.plan.schedule.least_splits;
  report("sums of digits take splits", least > 1);
  check_forced_splits("takes " + std::to_string(least) + " to 64", digits, least - 1);
  check_forced_splits("pieces of K", make_product(kResidues, 64, 64, 1 << 20), 2, 100 << 20);
}

}  // namespace

int main() {
  check_right_products();
  check_kept_products();
  check_integers();
  check_refusals();
  check_forced();
  check_forced_refusals();
  return finish();
}
