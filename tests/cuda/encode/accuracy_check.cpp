// What stages 1 and 2 on the GPU leave of lines whose records are asked for: capacities, shifts, records and counts of rounded
// entries equal to those by the shared definitions, one entry after the other, and the planes of the integers that follow.
//
//   accuracy_check host                         sums of facts in words, and what is rounded
//   accuracy_check gpu [part of a case's name]  the kernels
//
// Outputs are poisoned, records too: a count that is not begun at 0 is wrong.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "arith/accuracy/line_facts.hpp"
#include "arith/scale_entry.hpp"
#include "check.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/encode/operands.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/scale/batch_facts.hpp"
#include "cuda/scale/scale.hpp"

namespace {

const char* filter = "";

bool selected(const std::string& name) { return name.find(filter) != std::string::npos; }

// ---- The shared arithmetic, on the host -----------------------------------------------------------------------------------

bool equal(const LineFacts& x, const LineFacts& y) {
  return x.exponent == y.exponent && x.lowest == y.lowest && x.nonzeros == y.nonzeros && x.exponent_sum == y.exponent_sum;
}

// Batches of entries of one kind, in two parts that are packed, unpacked and combined.
template <class T>
void check_facts(const std::string& name) {
  constexpr int batch = 64 / static_cast<int>(sizeof(T));
  bool good = true;
  for (int i = 0; i < 20000; ++i) {
    const auto data = static_cast<Data>(i % kDataKinds);
    BatchFacts part[2];
    LineFacts expected;
    for (int round = 0; round < i % 5; ++round) {
      T x[batch];
      std::uint32_t largest = 0;
      for (T& entry : x) {
        entry = random_int(0, 9) == 0 ? T(0) : random_entry<T>(i % 7 == 0 && random_int(0, 1) != 0 ? Data::subnormal : data);
        largest = std::max(largest, upper_word(entry));
        add_entry(expected, entry);
      }
      add_batch(part[round % 2], x, largest);
    }
    const LineFacts found = line_facts(combine(unpack(pack(part[0])), part[1]), expected.exponent);
    good &= equal(found, expected);
  }
  report(name, good);
}

template <class T>
void check_rounded(const std::string& name) {
  bool good = true;
  for (int i = 0; i < 200000; ++i) {
    const T x = random_entry<T>(static_cast<Data>(i % kDataKinds));
    if (!std::isfinite(x)) {
      good &= !is_rounded(x, static_cast<int>(random_int(-100, 100)));
      continue;
    }
    int exponent = 0;
    std::frexp(x, &exponent);
    const int shift = static_cast<int>(random_int(-10, 60)) - exponent;
    // Of no bits below the point, or with some.
    const long double y = std::ldexp(static_cast<long double>(x), shift);
    good &= is_rounded(x, shift) == (y != std::nearbyint(y));
  }
  report(name, good);
}

// A sum brought to another capacity bounds what it did.
void check_sums() {
  bool good = true;
  for (int i = 0; i < 100000; ++i) {
    const float sum = std::ldexp(1 + static_cast<float>(random_int(0, 1000000)) * 1e-6f, static_cast<int>(random_int(0, 32)));
    const int reference = static_cast<int>(random_int(-14, 31)), capacity = reference + static_cast<int>(random_int(-29, 45));
    const double moved = sum_at_capacity(sum, capacity, reference), exact = std::ldexp(double(sum), 2 * (capacity - reference));
    good &= moved >= exact && moved <= exact * (1 + 1e-6);
    const double bound = norm_squared_bound(static_cast<float>(moved), 1000, reference);
    const double direct = norm_squared_bound(sum, 1000, capacity);
    good &= bound >= direct * (1 - 1e-9) && bound <= direct * (1 + 1e-6);
  }
  report("sums of other capacities", good);
}

// ---- What is expected of the lines --------------------------------------------------------------------------------------

struct Lines {
  std::vector<std::int32_t> shift;
  std::vector<std::uint8_t> special;
  std::vector<LineRecord> record;
  double least_norm = 0, most_norm = 0;  // of the integers' largest sum of squares, and of what may be said to bound it
  LineExtremes extremes{};
};

template <class T>
void add_line(Lines& lines, const OperandView& view, std::int64_t o, const cuda::CapacityRule& rule) {
  const auto entry = [&](std::int64_t k) {
    return load<T>(static_cast<const char*>(view.data) + o * view.outer_stride + k * view.inner_stride);
  };
  LineFacts facts;
  std::uint8_t special = kFinite;
  for (std::int64_t k = 0; k < view.inner; ++k) {
    const T x = entry(k);
    if (std::isnan(x)) special |= kHasNan;
    if (std::isinf(x)) special |= kHasInfinity;
    add_entry(facts, x);
  }
  const int capacity = line_capacity(rule.accuracy, rule.bits, facts, rule.precision);
  const int shift = facts.nonzeros == 0 ? 0 : capacity - 1 - facts.exponent;
  LineRecord record = make_record(facts, capacity);
  lines.extremes = combine(lines.extremes, line_extremes(record, special != kFinite, view.inner));
  long double integers = 0, entries = 0;
  std::uint64_t rounded = 0;
  for (std::int64_t k = 0; k < view.inner; ++k) {
    const T x = entry(k);
    if (!std::isfinite(x)) continue;
    const long double y = std::ldexp(static_cast<long double>(x), shift);
    integers += std::nearbyint(y) * std::nearbyint(y);
    entries += y * y;
    rounded += y != std::nearbyint(y) ? 1u : 0u;
  }
  if (rule.accuracy == Accuracy::correct) record.rounded = rounded;
  const double bound = std::sqrt(static_cast<double>(entries)) + 0.5 * std::sqrt(static_cast<double>(view.inner));
  lines.shift.push_back(shift);
  lines.special.push_back(special);
  lines.record.push_back(record);
  lines.least_norm = std::max(lines.least_norm, static_cast<double>(integers));
  if (facts.nonzeros != 0) lines.most_norm = std::max(lines.most_norm, bound * bound);
}

Lines expected_lines(const TestOperand& operand, const cuda::CapacityRule& rule) {
  Lines lines;
  for (int m = 0; m < operand.view.stack.count(); ++m) {
    const OperandView view = operand.matrix(m);
    for (std::int64_t o = 0; o < view.outer; ++o) {
      view.type == ElementType::float64 ? add_line<double>(lines, view, o, rule) : add_line<float>(lines, view, o, rule);
    }
  }
  return lines;
}

std::string text_of(const LineRecord& record) {
  return "(depth " + std::to_string(record.depth) + ", nonzeros " + std::to_string(record.nonzeros) + ", rounded " +
         std::to_string(record.rounded) + ", capacity " + std::to_string(record.capacity) + ", exponent " +
         std::to_string(record.exponent) + ")";
}

bool equal(const LineRecord& x, const LineRecord& y) {
  return x.depth == y.depth && x.nonzeros == y.nonzeros && x.rounded == y.rounded && x.capacity == y.capacity &&
         x.exponent == y.exponent;
}

// ---- What the GPU leaves ----------------------------------------------------------------------------------------------------

// An operand's lines and planes on the device. `lines` of them in the planes from `first_line` on.
struct Prepared {
  const TestOperand& operand;
  DeviceArray<std::int32_t> shift;
  DeviceArray<std::uint8_t> special;
  DeviceArray<LineRecord> record;
  DeviceArray<double> norm;
  DeviceArray<LineExtremes> extremes;
  cuda::Planes layout;
  DeviceArray<std::uint8_t> planes;

  Prepared(const TestOperand& test, int plane_count)
      : operand(test),
        shift(line_count(test.view)),
        special(line_count(test.view)),
        record(line_count(test.view)),
        norm(1),
        extremes(1),
        layout(plane_layout(test.view, test.view.outer)),
        planes(static_cast<std::size_t>(layout.plane_stride * plane_count)) {
    layout.data = planes.data;
  }

  cuda::ScaledOperand scaled(bool has_records) const {
    return {operand.view, shift.data, special.data, norm.data, has_records ? record.data : nullptr, extremes.data};
  }
  cuda::EncodeJob job(bool has_records, bool counts) const {
    return {scaled(has_records), 0, operand.view.outer, layout, counts};
  }
};

struct AccuracyCase {
  Case base;
  cuda::CapacityRule rule{53};
  bool has_records = true, as_codes = false;

  bool counts() const { return rule.accuracy == Accuracy::correct; }
};

void compare(const std::string& name, const AccuracyCase& c, const Prepared& found, const Lines& lines, int count) {
  report(name + " shifts", found.shift.host() == lines.shift);
  report(name + " flags", found.special.host() == lines.special);
  if (c.has_records) {
    const std::vector<LineRecord> records = found.record.host();
    std::string wrong;
    for (std::size_t i = 0; i < records.size() && wrong.empty(); ++i) {
      if (!equal(records[i], lines.record[i])) {
        wrong = "line " + std::to_string(i) + ": " + text_of(records[i]) + " instead of " + text_of(lines.record[i]);
      }
    }
    report(name + " records", wrong.empty(), wrong);
  }
  if (count < 0) return;
  const std::string wrong = compare_planes(c.base, found.operand, 0, found.operand.view.outer, count, lines.shift, lines.special,
                                           found.layout, found.planes.host(), c.as_codes);
  report(name + " planes", wrong.empty(), wrong);
}

struct Expected {
  Lines a, b;
};

// Whether the rule may choose this count by the norms of the lines.
bool is_right_count(const AccuracyCase& c, const PrefixRule& rule, const Expected& expected, int count) {
  if (!c.base.plan.has_moduli()) return true;
  const double least = expected.a.least_norm * expected.b.least_norm, most = expected.a.most_norm * expected.b.most_norm;
  return count >= moduli_needed(rule, least * (1 - 1e-9)) && count <= moduli_needed(rule, most * 1.001);
}

enum class Way { parts, pieces, apart, kept, both_kept, together, together_apart, together_kept };
constexpr const char* way_names[] = {"in parts",
                                     "in pieces",
                                     "apart",
                                     "with one that is kept",
                                     "of two that are kept",
                                     "in one launch",
                                     "each in one launch",
                                     "in one launch, with one that is kept"};

// Of lines scaled in two launches nothing is known where their extremes are not passed on, as where they have no records.
bool is_right_verdict(const AccuracyCase& c, std::int64_t inner, const Expected& expected, Way way, const cuda::Verdict& found) {
  const LineExtremes &a = expected.a.extremes, &b = expected.b.extremes;
  const bool is_known = c.has_records && way != Way::apart && way != Way::together_apart;
  const bool certain = is_known && is_certain(a, b, c.rule.accuracy, inner);
  return found.is_certain == (certain ? 1 : 0);
}

// The jobs of B's lines in two parts, and of the entries of K in two pieces: every entry is counted once.
void encode_in_parts(const AccuracyCase& c, const cuda::EncodePlan& plan, const Prepared& a, const Prepared& b,
                     const int* units) {
  const cuda::EncodeJob whole_a = a.job(c.has_records, c.counts());
  const int half = b.operand.view.outer / 2;
  for (const bool is_second : {false, true}) {
    cuda::EncodeJob part = b.job(c.has_records, c.counts());
    part.first_line = is_second ? half : 0;
    part.lines = is_second ? b.operand.view.outer - half : half;
    part.planes.data += part.first_line * part.planes.pitch;
    cuda::EncodeJob job_a = whole_a;
    job_a.counts = c.counts() && !is_second;  // A once more, with the second part of B
    cuda::launch_encode(plan, job_a, part, units, nullptr, !is_second);
  }
}

void encode_pieces(const AccuracyCase& c, const cuda::EncodePlan& plan, const Prepared& a, const Prepared& b, const int* units) {
  const int inner = a.operand.view.inner, first = std::max(inner / 3, 1);
  for (const int begin : {0, first}) {
    if (begin == inner) continue;
    const auto piece = [&](const Prepared& operand) {
      cuda::EncodeJob job = operand.job(c.has_records, c.counts());
      job.operand.view.data += begin * job.operand.view.inner_stride;
      job.operand.view.inner = begin == 0 ? first : inner - first;
      return job;
    };
    cuda::launch_encode(plan, piece(a), piece(b), units, nullptr);
  }
}

void check_way(const AccuracyCase& c, const cuda::EncodePlan& plan, const TestOperand& test_a, const TestOperand& test_b,
               const Expected& expected, Way way) {
  const Prepared a(test_a, c.base.plan.planes_a), b(test_b, c.base.plan.planes_b);
  DeviceArray<cuda::Verdict> verdict(1);
  DeviceArray<char> counters(cuda::kScaleCounterBytes);
  const std::int64_t scratch_bytes = std::max({cuda::scale_scratch_bytes(test_a.view, test_b.view),
                                               cuda::scale_scratch_bytes(test_a.view), cuda::scale_scratch_bytes(test_b.view)});
  DeviceArray<char> scratch(static_cast<std::size_t>(scratch_bytes));
  REQUIRE(cudaMemset(counters.data, 0, counters.size));
  const PrefixRule rule = make_prefix_rule(c.base.plan, kMaxModuli);
  const cuda::PrefixChoice choice{rule, verdict.data, nullptr}, first{rule, nullptr, nullptr},
      second{rule, verdict.data, a.norm.data}, behind_kept{rule, verdict.data, a.norm.data, a.extremes.data};
  const int* used = c.base.plan.has_moduli() ? &verdict.data->units_used : nullptr;
  const cuda::EncodeJob job_a = a.job(c.has_records, c.counts()), job_b = b.job(c.has_records, c.counts());
  const cuda::ScaledOperand scaled_a = job_a.operand, scaled_b = job_b.operand;
  if (way == Way::parts || way == Way::pieces) {
    void* clear = way == Way::parts ? counters.data : nullptr;
    cuda::launch_scale({scaled_a, scaled_b}, c.rule, choice, scratch.data, nullptr, clear);
    way == Way::parts ? encode_in_parts(c, plan, a, b, used) : encode_pieces(c, plan, a, b, used);
  } else if (way == Way::apart) {
    using cuda::Operands;
    cuda::launch_scale(Operands<cuda::ScaledOperand>(scaled_a), c.rule, first, scratch.data, nullptr, counters.data);
    cuda::launch_scale(Operands<cuda::ScaledOperand>(scaled_b), c.rule, second, scratch.data, nullptr, counters.data);
    cuda::launch_encode(plan, job_b, cuda::EncodeJob(), used, nullptr, true);
    cuda::launch_encode(plan, job_a, cuda::EncodeJob(), used, nullptr);
  } else if (way == Way::kept || way == Way::both_kept) {
    using cuda::Operands;
    const bool has_one = way == Way::kept;
    cuda::launch_scale(Operands<cuda::ScaledOperand>(scaled_a), c.rule, first, scratch.data, nullptr, counters.data);
    cuda::launch_encode(plan, job_a, cuda::EncodeJob(), nullptr, nullptr, true);
    cuda::launch_scale(Operands<cuda::ScaledOperand>(scaled_b), c.rule, has_one ? behind_kept : first, scratch.data, nullptr);
    if (!has_one) cuda::launch_choose(scaled_a, scaled_b, c.rule, choice, nullptr);
    cuda::launch_encode(plan, job_b, cuda::EncodeJob(), has_one ? used : nullptr, nullptr);
  } else if (way == Way::together) {
    cuda::launch_scale_encode(plan, {job_a, job_b}, c.rule, choice, scratch.data, nullptr, counters.data);
  } else {
    using cuda::Operands;
    cuda::launch_scale_encode(plan, Operands<cuda::EncodeJob>(job_a), c.rule, first, scratch.data, nullptr, counters.data);
    cuda::launch_scale_encode(plan, Operands<cuda::EncodeJob>(job_b), c.rule, way == Way::together_kept ? behind_kept : second,
                              scratch.data, nullptr, counters.data);
  }
  REQUIRE(cudaDeviceSynchronize());
  const std::string name = c.base.name + " " + way_names[static_cast<int>(way)];
  int count = c.base.plan.count();
  if (c.base.plan.has_moduli()) {
    const cuda::Verdict found = verdict.host()[0];
    const int chosen = found.units_used;
    report(name + " certainty", is_right_verdict(c, test_a.view.inner, expected, way, found), std::to_string(found.is_certain));
    report(name + " count", is_right_count(c, rule, expected, chosen), std::to_string(chosen));
    if (way == Way::parts || way == Way::apart || way == Way::kept) count = chosen;
  }
  report(name + " counters", std::all_of(counters.host().begin(), counters.host().end(), [](char byte) { return byte == 0; }));
  if (way == Way::pieces) count = -1;
  const bool keeps_a = way == Way::kept;  // with all of its planes
  compare(name + ", A", c, a, expected.a, keeps_a ? c.base.plan.count() : count);
  compare(name + ", B", c, b, expected.b, count);
}

void check_case(const AccuracyCase& c) {
  if (!selected(c.base.name)) return;
  const Case& base = c.base;
  const TestOperand a(base.type, base.rows, base.k, base.layout_a, base.extents_a, base.data);
  const TestOperand b(base.type, base.columns, base.k, base.layout_b, base.extents_b, base.data);
  const Expected expected{expected_lines(a, c.rule), expected_lines(b, c.rule)};
  const auto plan = std::make_unique<cuda::EncodePlan>(cuda::make_encode_plan(base.plan, c.as_codes));
  for (const Way way : {Way::parts, Way::pieces, Way::apart}) check_way(c, *plan, a, b, expected, way);
  if (c.has_records && base.plan.has_moduli()) {
    for (const Way way : {Way::kept, Way::both_kept}) check_way(c, *plan, a, b, expected, way);
  }
  if (c.counts()) return;
  if (cuda::can_scale_and_encode(*plan, a.view, b.view, c.has_records)) {
    check_way(c, *plan, a, b, expected, Way::together);
    check_way(c, *plan, a, b, expected, Way::together_apart);
    if (c.has_records && base.plan.has_moduli()) check_way(c, *plan, a, b, expected, Way::together_kept);
  }
}

// ---- Cases --------------------------------------------------------------------------------------------------------------

struct Wanted {
  const char* name;
  cuda::CapacityRule rule;
  ElementType type;
  bool has_records = true;
};

const Wanted wanted[] = {
    {"standard f64", {accuracy_bits(Accuracy::standard, 53), Accuracy::standard, 53}, ElementType::float64},
    {"standard f32", {accuracy_bits(Accuracy::standard, 24), Accuracy::standard, 24}, ElementType::float32},
    {"correct f64", {accuracy_bits(Accuracy::correct, 53), Accuracy::correct, 53}, ElementType::float64},
    {"correct f32", {accuracy_bits(Accuracy::correct, 24), Accuracy::correct, 24}, ElementType::float32},
    {"correct f32 to f64", {accuracy_bits(Accuracy::correct, 53), Accuracy::correct, 53}, ElementType::float32},
    {"standard f64, a longer plan", {90, Accuracy::standard, 53}, ElementType::float64},
    {"correct f64, a longer plan", {100, Accuracy::correct, 53}, ElementType::float64},
    {"scaled f64", {53}, ElementType::float64},
    {"scaled f64 24 bits", {24}, ElementType::float64},
    {"scaled f32 24 bits", {24}, ElementType::float32},
    {"scaled f64 61 bits", {61}, ElementType::float64, false},
    {"scaled f64 82 bits", {82}, ElementType::float64, false},
    {"scaled f32 83 bits", {83}, ElementType::float32},
    {"scaled f64 150 bits", {150}, ElementType::float64, false},
    {"scaled f64 200 bits", {200}, ElementType::float64, false},
};

struct Kind {
  const char* name;
  Scheme scheme;
  Alphabet alphabet;
  bool as_codes = false;
  const char* family = "least";
};

const Kind kinds[] = {{"int8", Scheme::two, Alphabet::int8},
                      {"fp4", Scheme::two, Alphabet::fp4},
                      {"fp4 codes", Scheme::two, Alphabet::fp4, true},
                      {"fp4 I", Scheme::one, Alphabet::fp4},
                      {"fp4 I codes", Scheme::one, Alphabet::fp4, true},
                      {"int8 I", Scheme::one, Alphabet::int8},
                      {"fp4 paper", Scheme::two, Alphabet::fp4, false, "paper"},
                      {"fp4 karatsuba", Scheme::two, Alphabet::fp4, false, "paper-karatsuba"}};

// The moduli of scheme II are of no more integers than about 110 bits over the fp4 alphabet, 160 over int8; the paper's are of
// 53 and of K up to 76,549.
bool has_plan(const Wanted& want, const Kind& kind, int k) {
  if (kind.family[0] == 'p') return want.rule.bits <= 53 && k < 70000;
  return kind.scheme == Scheme::one || want.rule.bits <= (kind.alphabet.residue_is_limb() ? 150 : 100);
}

AccuracyCase case_of(const Wanted& want, const Kind& kind, int k) {
  AccuracyCase c;
  c.base.name = std::string(want.name) + ", " + kind.name;
  c.base.plan = make_plan({kind.scheme, kind.alphabet, kind.family, want.rule.bits, k});
  c.base.type = want.type;
  c.base.k = k;
  c.rule = want.rule;
  c.has_records = want.has_records;
  c.as_codes = kind.as_codes;
  return c;
}

void check_shape(AccuracyCase c, int number) {
  c.base.name = "#" + std::to_string(number) + " " + c.base.name + " " + std::to_string(c.base.rows) + "x" +
                std::to_string(c.base.columns) + "x" + std::to_string(c.base.k) + " " +
                layout_names[static_cast<int>(c.base.layout_a)] + "/" + layout_names[static_cast<int>(c.base.layout_b)] + " " +
                data_names[static_cast<int>(c.base.data)];
  check_case(c);
}

// Whether encode takes what each of them needs.
void check_plans() {
  for (const Wanted& want : wanted) {
    for (const Kind& kind : kinds) {
      for (const int k : {1, 77, 70001, 1 << 24}) {
        if (!has_plan(want, kind, k)) continue;
        const AccuracyCase c = case_of(want, kind, k);
        const auto plan = std::make_unique<cuda::EncodePlan>(cuda::make_encode_plan(c.base.plan, c.as_codes));
        const bool is_counted = !c.counts() || plan->words > 1;
        report("plan " + c.base.name, is_counted && byte_bits(plan->words) >= want.rule.bits);
      }
    }
  }
}

// Kernels write codes for the GPUs whose multiply kernels take them.
bool has_code_kernels() {
  const cuda::Gpu gpu = cuda::gpu_of(0);
  for (const cuda::Kernel kernel : {cuda::Kernel::mma_fp4, cuda::Kernel::tcgen05_fp4, cuda::Kernel::stand_in_copy}) {
    if (cuda::find_kernel_error(kernel, Element::e2m1, gpu) == nullptr) return true;
  }
  return false;
}

// Every accuracy with every kind of planes and of data.
void check_kinds(int& number) {
  for (const Wanted& want : wanted) {
    for (const Kind& kind : kinds) {
      if (!has_plan(want, kind, 77) || (kind.as_codes && !has_code_kernels())) continue;
      AccuracyCase c = case_of(want, kind, 77);
      for (int data = 0; data < kDataKinds; ++data) {
        c.base.rows = 9, c.base.columns = 13;
        c.base.data = static_cast<Data>(data);
        c.base.layout_a = static_cast<Layout>(number % kLayouts), c.base.layout_b = static_cast<Layout>((number / 3) % kLayouts);
        check_shape(c, ++number);
      }
    }
  }
}

// Every length with every layout; stacks.
void check_shapes(int& number) {
  const int lengths[] = {1, 2, 3, 7, 8, 15, 16, 17, 64, 127, 129, 257, 1000, 1025, 1500, 1792, 1800, 2049, 4100, 8192, 9001};
  const int sizes[] = {1, 2, 3, 5, 8, 17, 33};
  for (const int k : lengths) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      const Wanted& want = wanted[static_cast<std::size_t>(random_int(0, 4))];
      AccuracyCase c = case_of(want, kinds[0], k);
      c.base.rows = sizes[random_int(0, 6)], c.base.columns = sizes[random_int(0, 6)];
      c.base.layout_a = static_cast<Layout>(layout), c.base.layout_b = static_cast<Layout>(random_int(0, kLayouts - 1));
      c.base.data = static_cast<Data>(random_int(0, kDataKinds - 1));
      if (layout % 3 == 0 && k < 300) c.base.extents_a = {2, 3}, c.base.extents_b = {2, 1, 2};
      check_shape(c, ++number);
    }
  }
}

// Lines of several chunks, and so many entries that every block of encode has several tiles.
void check_large(int& number) {
  for (const int i : {0, 2, 3}) {
    AccuracyCase c = case_of(wanted[i], kinds[0], 70001);
    c.base.rows = 2, c.base.columns = 3;
    c.base.data = Data::wide;
    check_shape(c, ++number);
    c = case_of(wanted[i], kinds[0], 1500);
    c.base.rows = 700, c.base.columns = 801;
    c.base.data = i == 0 ? Data::plain : Data::short_;
    check_shape(c, ++number);
    c.base.rows = 50, c.base.columns = 67;
    c.base.data = Data::near;  // certain by depth
    check_shape(c, ++number);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (is_for_gpu(argc, argv)) {
    if (argc > 2) filter = argv[2];
    int number = 0;
    check_kinds(number);
    check_shapes(number);
    check_large(number);
  } else {
    check_facts<double>("facts, FP64");
    check_facts<float>("facts, FP32");
    check_rounded<double>("rounded, FP64");
    check_rounded<float>("rounded, FP32");
    check_sums();
    check_plans();
  }
  return finish();
}
