// Complex plans on a GPU, as far as the host can see: the constants and tables of pairs give the plan's residues and limbs, those
// of the join the parts; and what is laid out for a complex product, whole or cut, of operands that are kept or not, is what
// every stage takes.
#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "arith/limbs/e2m1.hpp"
#include "check.hpp"
#include "cuda/matmul.hpp"
#include "cuda/prepare.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

Plan plan_of(const Alphabet& alphabet, int bits, std::int64_t k) {
  return make_plan({Scheme::two, alphabet, "least", bits, k, true});
}

template <int Words>
WideInt<Words> random_wide(int bits, int i) {
  WideInt<Words> v;
  for (std::uint32_t& word : v.word) word = static_cast<std::uint32_t>(random_int(std::int64_t(0), std::int64_t(0xffffffff)));
  for (int j = bits; j < 32 * Words; ++j) v.word[j / 32] &= ~(std::uint32_t(1) << (j % 32));
  if (i < 4) {  // 2^bits
    v = wide_zero<Words>();
    v.word[bits / 32] = std::uint32_t(1) << (bits % 32);
  }
  return i % 2 == 0 ? v : wide_negate(v);
}

// Whether the planes of a unit hold the limbs, by its residue as a kernel finds it: itself, or what the table has for it.
bool has_limbs(const EncodePlan& encode, const EncodeUnit& unit, const Group& group, std::uint32_t residue,
               const std::int32_t* limbs) {
  if (encode.kind == EncodeKind::pairs) {
    return static_cast<std::int64_t>(residue) == (limbs[0] < 0 ? limbs[0] + group.modulus : limbs[0]);
  }
  bool good = unit.planes == group.planes;
  for (int p = 0; p < group.planes; ++p) {
    const unsigned codes = encode.table[unit.table + residue];
    good &= e2m1_decode((codes >> (4 * p)) & 15u) == limbs[p];
  }
  return good;
}

template <int Words>
void check_pairs(const Alphabet& alphabet, int bits, EncodeKind kind) {
  const Plan plan = plan_of(alphabet, bits, 1 << 15);
  const EncodePlan encode = make_encode_plan(plan, writes_codes(kind));
  const std::string name = std::string(alphabet.name) + " pairs of " + std::to_string(bits) + " bits";
  report(name, encode.kind == kind && encode.words == Words && encode.units == plan.groups_of(plan.count()) &&
                   encode.planes == plan.planes_a);
  std::vector<std::int32_t> limbs(static_cast<std::size_t>(plan.planes_a));
  for (int i = 0; i < 3000; ++i) {
    const WideInt<Words> x = random_wide<Words>(bits, i), y = random_wide<Words>(bits, i / 2);
    encode_pair(plan, wide_resize<kMaxWords>(x), wide_resize<kMaxWords>(y), limbs.data());
    const IntegerBytes<2 * Words> bytes = pair_bytes<Words>(bytes_of(x), bytes_of(y));
    bool good = true;
    for (int u = 0; u < encode.units; ++u) {
      const Group& group = plan.groups[static_cast<std::size_t>(u)];
      const std::uint32_t residue = residue_byte(bytes, leading_words<2 * Words>(encode.unit[u].modulus)) & 255u;
      good &= has_limbs(encode, encode.unit[u], group, residue, limbs.data() + group.first_plane);
    }
    report(name + ", integers " + std::to_string(i), good);
  }
}

void check_join(const Alphabet& alphabet, int bits) {
  const Plan plan = plan_of(alphabet, bits, 1 << 15);
  const JoinPlan join = make_join_plan(plan);
  report("moduli of the join", join.moduli == plan.count());
  for (int i = 0; i < join.moduli; ++i) {
    const auto m = plan.modulus(i);
    const JoinedModulus& modulus = join.modulus[i];
    const Group &first = plan.groups[static_cast<std::size_t>(2 * i)], &second = plan.groups[static_cast<std::size_t>(2 * i + 1)];
    const std::string name = "join modulo " + std::to_string(m);
    report(name, modulus.is_joined == (first.encoded.im != 0));
    if (!modulus.is_joined) continue;
    bool good = true;
    for (std::int64_t p = 0; p < m; ++p) {
      for (std::int64_t q = 0; q < m; ++q) {
        const IntegerBytes<1> both{{static_cast<std::uint32_t>(p | q << 8)}};
        good &= (residue_byte(both, modulus.re) & 255u) == (first.joined.re * p + second.joined.re * q) % m;
        good &= (residue_byte(both, modulus.im) & 255u) == (first.joined.im * p + second.joined.im * q) % m;
      }
    }
    report(name, good);
  }
  report("no join of a real plan", make_join_plan(make_plan({Scheme::two, Alphabet::int8, "least", 53, 9})).moduli == 0);
}

CudaProduct expanded(int m, int n, int k) {
  CudaProduct product;
  product.a = {reinterpret_cast<const char*>(256), ElementType::float64, m, 2 * k, k * 16, 8, {}};
  product.b = {reinterpret_cast<const char*>(256), ElementType::float64, 2 * n, 2 * k, 8, n * 16, {}};
  product.result.data = reinterpret_cast<char*>(256);
  product.result.rows = m;
  product.result.columns = 2 * n;
  product.result.row_stride = n * 16;
  product.result.column_stride = 8;
  return product;
}

void check_views() {
  CudaProduct product = expanded(3, 5, 7);
  product.axes = {{4, 1000, 0, 2000}, {2, 0, 3000, 500}};
  product = with_parts(product);
  report("views", product.b.outer == 5 && product.b.outer_stride == 16 && product.result.columns == 5 &&
                      product.result.column_stride == 16 && product.parts->b_stride == 8 && product.parts->c_stride == 8);
  const Turn turn = turn_at(product, longest_turns(product), 0);
  const Stack &b = turn.b.stack, &c = turn.result.stack;
  report("parts first", turn.b.has_parts && b.rank == 2 && b.extent[0] == 2 && b.stride[0] == 8 && b.extent[1] == 2 &&
                            c.rank == 3 && c.extent[0] == 2 && c.stride[0] == 8 && turn.result.b_step[0] == 2 &&
                            turn.result.a_step[0] == 0);
  report("the even columns", turn.b.encoded().stack.rank == 1 && turn.b.encoded().stack.stride[0] == 3000);
  product.axes.assign(6, {3, 100, 100, 100});
  for (const Turns& turns : {longest_turns(product), shortened(product, longest_turns(product))}) {
    for (const std::int64_t index : {std::int64_t(0), turns.count - 1}) {
      const Turn own = turn_at(product, turns, index);
      report("a turn of many axes", own.result.stack.rank <= kMaxStackRank && own.result.stack.extent[0] == 2);
    }
  }
  for (std::int32_t DeviceOperand::* const extent : {&DeviceOperand::outer, &DeviceOperand::inner}) {
    CudaProduct odd = expanded(3, 5, 7);
    odd.a.*extent += 1;
    odd.b.*extent += 1;
    try {
      with_parts(odd);
      report("an odd extent", false);
    } catch (const std::invalid_argument&) {
      report("an odd extent", true);
    }
  }
}

void check_layouts(const Alphabet& alphabet, Kernel kernel, const Gpu& gpu) {
  for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
    for (const int k : {1, 7, 130, 5000}) {
      const int bits = accuracy == Accuracy::scaled ? 53 : 76;
      const CudaPlan plan =
          make_cuda_plan(plan_of(alphabet, bits, 2 * k), 2 * k, kernel, {accuracy, Rounding::nearest, Second::none, 53});
      CudaProduct product = expanded(300, 201, k);
      product.axes = {{3, 0, 1 << 20, 1 << 24}};
      product = with_parts(product);
      const std::int64_t whole = make_layout(plan, product, gpu, INT64_MAX).bytes;
      for (const std::int64_t cap : {INT64_MAX, whole / 2, whole / 10, whole / 40}) {
        const std::string name = std::string(alphabet.name) + ", " + kernel_name(kernel) + ": " + std::to_string(k) + " within " +
                                 std::to_string(cap) + " of " + std::to_string(whole);
        try {
          const CudaLayout layout = make_layout(plan, product, gpu, cap);
          check_matmul(plan, layout, product, plan.schedule.steps.data(), gpu);
          report(name, layout.bytes <= cap && layout.tile.splits == 1 && !layout.scales_and_encodes && layout.inners % 2 == 0);
        } catch (const std::length_error&) {
          report(name, cap <= whole / 10);  // the smallest blocks need more
        } catch (const std::exception& error) {
          report(name, false, error.what());
        }
      }
    }
  }
}

// Four matrices A and three B; kept of B are those of its even columns, then those of the odd ones.
CudaProduct kept_product(int k, bool keeps_a, bool keeps_b) {
  CudaProduct product = expanded(300, 201, k);
  product.axes = {{4, 1 << 30, 0, 1 << 28}, {3, 0, 1 << 20, 1 << 24}};
  if (keeps_a) product.stored_a.lines = 300, product.stored_a.matrices = 4;
  if (keeps_b) product.stored_b.lines = 201, product.stored_b.matrices = 2 * 3;
  return with_parts(product);
}

// Every turn has all of a B that is kept, and begins with the matrix of A that it begins with.
bool are_kept_turns(const CudaProduct& product, const Turns& turns) {
  bool good = true;
  for (std::int64_t index = 0; index < turns.count; ++index) {
    const Turn turn = turn_at(product, turns, index);
    if (turn.stored_a.exists()) good &= turn.a.data - product.a.data == turn.stored_a.first_matrix * (std::int64_t(1) << 30);
    if (!turn.stored_b.exists()) continue;
    good &= turn.b.data == product.b.data && turn.stored_b.first_matrix == 0 && turn.result.b_step[0] == 3 &&
            turn.b.stack.count() == turn.stored_b.matrices;
  }
  return good;
}

// Where the parts of what is kept lie: planes of half the entries of K, of B of the even columns alone.
void check_stored(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu, const std::string& name) {
  const Turn turn = turn_at(product, longest_turns(product), 0);
  char* const memory = reinterpret_cast<char*>(1 << 20);
  for (const bool is_b : {false, true}) {
    const DeviceOperand& view = is_b ? turn.b : turn.a;
    StoredOperand stored;
    stored.memory = memory;
    stored.lines = view.outer;
    stored.matrices = view.stack.count();
    const StoredLayout layout = make_stored_layout(plan, stored.matrices, stored.lines, view.inner, view.has_parts);
    const EncodedOperand kept = take_stored(plan, stored, view);
    const Planes& planes = kept.planes;
    const std::int64_t matrices = is_b ? 3 : 4;
    const char* const begin = reinterpret_cast<const char*>(planes.data);
    const std::int64_t lines = stored.matrices * stored.lines;
    bool good =
        planes.pitch == plane_pitch(planes.element, view.inner / 2) && planes.plane_stride == matrices * planes.matrix_stride;
    good &= planes.matrix_stride >= stored.lines * planes.pitch && view.has_parts == is_b;
    good &= begin + planes.planes * planes.plane_stride <= memory + layout.bytes;
    good &= reinterpret_cast<const char*>(kept.scaled.record + lines) <= begin;
    good &= reinterpret_cast<const char*>(kept.scaled.shift + lines) <= reinterpret_cast<const char*>(kept.scaled.special);
    report(name + ": parts of what is kept", good);
    try {
      check_store(plan, view, gpu);
    } catch (const std::exception& error) {
      report(name + ": what is stored", false, error.what());
    }
  }
}

// A piece of K begins in planes at half of where it begins in the entries.
bool are_kept_blocks(const CudaPlan& plan, const CudaLayout& layout, const CudaProduct& product) {
  const Turn turn = turn_at(product, layout.turns, 0);
  const Preparation prepared(plan, layout, turn, reinterpret_cast<char*>(1 << 20));
  const Block block{{64, 1}, {128, 1}, {512, 2}};
  const Planes &a = prepared.a.planes, &b = prepared.b.planes;
  const std::int64_t behind = row_bytes(a.element, 256);
  return (!turn.stored_a.exists() || prepared.a_of(block).planes.data - a.data == 64 * a.pitch + behind) &&
         (!turn.stored_b.exists() || prepared.b_of(block).planes.data - b.data == 128 * b.pitch + behind);
}

void check_kept(const Alphabet& alphabet, Kernel kernel, const Gpu& gpu) {
  for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
    for (const int k : {1, 7, 130, 5000}) {
      const Plan chosen = plan_of(alphabet, accuracy == Accuracy::scaled ? 53 : 76, 2 * k);
      const CudaPlan plan = make_cuda_plan(chosen, 2 * k, kernel, {accuracy, Rounding::nearest, Second::bound, 53});
      const std::string kept = std::string(alphabet.name) + ", " + kernel_name(kernel) + ", kept: " + std::to_string(k);
      check_stored(plan, kept_product(k, false, false), gpu, kept);
      for (const int sides : {1, 2, 3}) {
        CudaProduct product = kept_product(k, (sides & 1) != 0, (sides & 2) != 0);
        product.second = product.result;
        const std::int64_t whole = make_layout(plan, product, gpu, INT64_MAX).bytes;
        for (const std::int64_t cap : {INT64_MAX, whole / 2, whole / 10, whole / 40}) {
          const std::string name = kept + ", sides " + std::to_string(sides) + " within " + std::to_string(cap);
          try {
            const CudaLayout layout = make_layout(plan, product, gpu, cap);
            check_matmul(plan, layout, product, plan.schedule.steps.data(), gpu);
            report(name, layout.bytes <= cap && are_kept_turns(product, layout.turns) && !layout.scales_and_encodes);
            report(name + ", blocks", are_kept_blocks(plan, layout, product));
          } catch (const std::length_error&) {
            report(name, cap <= whole / 2);  // a B that is kept is not cut
          } catch (const std::exception& error) {
            report(name, false, error.what());
          }
        }
      }
    }
  }
}

void check_kept_axes() {
  CudaProduct product = kept_product(7, false, true);
  product.axes.assign(6, {3, 100, 100, 100});
  try {
    longest_turns(product);
    report("a kept B of many axes", false);
  } catch (const std::invalid_argument&) {
    report("a kept B of many axes", true);
  }
  for (StackAxis& axis : product.axes) axis.b_stride = 0;
  const Turns turns = longest_turns(product);
  report("a kept B that is broadcast", turns.axis == 3 && turn_at(product, turns, turns.count - 1).b.data == product.b.data);
}

}  // namespace

int main() {
  check_pairs<1>(Alphabet::int8, 24, EncodeKind::pairs);
  check_pairs<2>(Alphabet::int8, 53, EncodeKind::pairs);
  check_pairs<2>(Alphabet::int8, 62, EncodeKind::pairs);
  check_pairs<3>(Alphabet::int8, 76, EncodeKind::pairs);
  check_pairs<3>(Alphabet::int8, 82, EncodeKind::pairs);
  for (const EncodeKind kind : {EncodeKind::pair_tables, EncodeKind::pair_codes}) {
    check_pairs<2>(Alphabet::fp4, 24, kind);
    check_pairs<2>(Alphabet::fp4, 53, kind);
    check_pairs<3>(Alphabet::fp4, 76, kind);
    check_pairs<3>(Alphabet::fp4, 82, kind);
  }
  check_join(Alphabet::int8, 94);
  check_join(Alphabet::fp4, 82);
  check_views();
  check_kept_axes();
  const Gpu first{held_capabilities()[0], 132};
  check_layouts(Alphabet::int8, Kernel::mma_copy, first);  // in every build
  check_kept(Alphabet::int8, Kernel::mma_copy, first);
  // Of kernels of bytes and of those of E2M1 codes, which only some GPUs have.
  const Plan fp4 = plan_of(Alphabet::fp4, 53, 2);
  std::set<Kernel> checked;
  for (const int* capability = held_capabilities(); *capability != 0; ++capability) {
    const Gpu gpu{*capability, 132};
    for (int i = 0; i < kKernels; ++i) {
      const auto kernel = static_cast<Kernel>(i);
      if (find_kernel_error(kernel, element_of(fp4, kernel), gpu) != nullptr || !checked.insert(kernel).second) continue;
      check_layouts(Alphabet::fp4, kernel, gpu);
      check_kept(Alphabet::fp4, kernel, gpu);
    }
  }
  report("a kernel multiplies complex FP4", !checked.empty());
  return finish();
}
