// Complex plans on a GPU, as far as the host can see. The constants and tables of pairs give the plan's residues and limbs, those
// of the join the parts, and turns have both parts of a result. Layouts of operands, kept or not, are covered by
// tests/api/test_prepare.py with `-k cuda`.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "arith/limbs/e2m1.hpp"
#include "check.hpp"
#include "cuda/matmul.hpp"

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
  return finish();
}
