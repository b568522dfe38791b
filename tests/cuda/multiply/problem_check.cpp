// The refusals of find_problem_error. Each rule of multiply/contract.hpp is broken by one change of a problem that is right, with
// the whole sentence. Where the rule is a limit, the last value that is still right is tested as well.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/multiply/contract.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

alignas(128) std::uint8_t place[256];

// Two units of two products each, modulo 13, over two planes of two matrices.
struct Subject {
  GemmProblem problem;
  TileChoice choice;
  std::vector<GemmStep> steps;
  std::vector<int> unit_begin = {0, 2, 4};
};

constexpr int kLength = 300;

std::uint32_t product_bound(Element element) { return element == Element::u8 ? 12 * 12 : 144; }

Subject make_subject(Element element) {
  Subject s;
  const std::uint32_t bound = is_signed(element) ? product_bound(element) * kLength : 0, start = is_signed(element) ? 36 : 0;
  for (int u = 0; u < 2; ++u) {
    s.steps.push_back(make_step(u, u, 0, kLength, Action::fold, 13, 3, 0, bound));
    s.steps.push_back(make_step(u, u, 0, kLength, Action::store_residue, 13, 1, u, bound + start));
  }
  GemmProblem& p = s.problem;
  p.m = 5;
  p.n = 7;
  p.k = kLength;
  p.element = element;
  p.product_bound = product_bound(element);
  p.a = {place, 2, 2, 304, 5 * 304, 2 * 5 * 304};
  p.b = {place, 2, 2, 304, 7 * 304, 2 * 7 * 304};
  p.batch = {1, {2, 1, 1, 1}, {1, 0, 0, 0}, {1, 0, 0, 0}};
  p.out = place;
  p.out_planes = 2;
  p.out_pitch = 16;
  p.out_matrix_stride = 5 * 16;
  return s;
}

using Change = std::function<void(Subject&)>;

// `sentence`: the error after the change; "": none.
void check(const char* sentence, const Change& change, Element element = Element::u8) {
  Subject s = make_subject(element);
  change(s);
  s.problem.steps = s.steps.empty() ? nullptr : s.steps.data();
  s.problem.unit_begin = s.unit_begin.empty() ? nullptr : s.unit_begin.data();
  if (s.problem.unit_count == 0) s.problem.unit_count = static_cast<int>(s.unit_begin.size()) - 1;
  const char* error = find_problem_error(s.problem, s.choice);
  const std::string found = error == nullptr ? "" : error;
  report(*sentence == 0 ? "no error" : sentence, found == sentence, "found: " + found);
}

void check_extent(int GemmProblem::* extent) {
  check("M, N and K must be positive", [=](Subject& s) { s.problem.*extent = 0; });
  check("M, N or K is above 2^31 - 4096, up to which positions fit 32 bits",
        [=](Subject& s) { s.problem.*extent = kLongestExtent + 1; });
}

void check_stride(PlaneArray GemmProblem::* operand, std::int64_t PlaneArray::* stride, const char* sentence_of_one_more) {
  check("pitches and strides of planes must be multiples of 16 bytes", [=](Subject& s) { s.problem.*operand.*stride += 8; });
  check(sentence_of_one_more, [=](Subject& s) { s.problem.*operand.*stride += 16; });
}

void check_operand(PlaneArray GemmProblem::* operand) {
  const auto with = [&](const char* sentence, auto change) { check(sentence, [=](Subject& s) { change(s.problem.*operand); }); };
  with("planes must be aligned to 128 bytes", [](PlaneArray& x) { x.data = nullptr; });
  with("planes must be aligned to 128 bytes", [](PlaneArray& x) { x.data = place + 64; });
  with("", [](PlaneArray& x) { x.data = place + 128; });
  with("an operand needs at least one plane and one matrix", [](PlaneArray& x) { x.planes = 0; });
  with("an operand needs at least one plane and one matrix", [](PlaneArray& x) { x.batches = 0; });
  check_stride(operand, &PlaneArray::pitch, "matrices of an operand overlap");
  check_stride(operand, &PlaneArray::batch_stride, "");
  check_stride(operand, &PlaneArray::plane_stride, "");
  with("the pitch of a plane is below K", [](PlaneArray& x) { x.pitch = 288; });
  with("the pitch of a plane exceeds 32 bits", [](PlaneArray& x) { x.pitch = std::int64_t(1) << 32; });
  with("matrices of an operand overlap", [](PlaneArray& x) { x.batch_stride -= 16; });
  with("planes of an operand overlap", [](PlaneArray& x) { x.plane_stride = 4 * x.pitch; });
}

void check_batches() {
  check("too many batch dimensions", [](Subject& s) { s.problem.batch.rank = kMaxBatchRank + 1; });
  check("too many batch dimensions", [](Subject& s) { s.problem.batch.rank = -1; });
  check("bad batch extent or stride", [](Subject& s) { s.problem.batch.extent[0] = 0; });
  check("bad batch extent or stride", [](Subject& s) { s.problem.batch.a_stride[0] = -1; });
  check("bad batch extent or stride", [](Subject& s) { s.problem.batch.b_stride[0] = -1; });
  check("the batch map reaches beyond the operands", [](Subject& s) { s.problem.batch.extent[0] = 3; });
  check("the batch map reaches beyond the operands", [](Subject& s) { s.problem.batch.a_stride[0] = 2; });
  check("the batch map reaches beyond the operands", [](Subject& s) { s.problem.batch.b_stride[0] = 2; });
  check("the batch map reaches beyond the operands", [](Subject& s) { s.problem.a.batches = 1; });
  check("the batch map reaches beyond the operands", [](Subject& s) { s.problem.b.batches = 1; });
  check("", [](Subject& s) { s.problem.batch = {2, {2, 3, 1, 1}, {1, 0, 0, 0}, {0, 0, 0, 0}}; });
  // One axis after the other within the operands, both together beyond.
  check("the batch map reaches beyond the operands",
        [](Subject& s) { s.problem.batch = {2, {2, 2, 1, 1}, {1, 1, 0, 0}, {0, 0, 0, 0}}; });
  check("too many matrices", [](Subject& s) { s.problem.batch = {2, {1 << 16, 1 << 15, 1, 1}, {}, {}}; });
  check("too many tiles", [](Subject& s) { s.problem.batch = {2, {1 << 16, (1 << 15) - 1, 1, 1}, {}, {}}; });
}

void check_units() {
  check("too many units", [](Subject& s) { s.problem.unit_count = -1; });
  check("too many units", [](Subject& s) { s.problem.unit_count = kMaxUnits + 1; });
  check("no schedule", [](Subject& s) { s.steps.clear(); });
  check("no schedule", [](Subject& s) {
    s.problem.unit_count = 1;
    s.unit_begin.clear();
  });
  check("product_bound is not set", [](Subject& s) { s.problem.product_bound = 0; });
  check("the first unit starts at step 0", [](Subject& s) { s.unit_begin[0] = 1; });
  check("splits must be positive", [](Subject& s) { s.choice.splits = 0; });
  check("a unit without steps", [](Subject& s) { s.unit_begin = {0, 2, 2, 4}; });
  const auto lengthen = [](Subject& s, int steps) {
    s.steps.insert(s.steps.begin(), static_cast<std::size_t>(steps) - 4, make_step(0, 0, 0, 0, Action::carry_on));
    s.unit_begin = {0, steps - 2, steps};
  };
  check("", [&](Subject& s) { lengthen(s, kMaxInlineSteps); });
  check("a schedule this long needs device_steps", [&](Subject& s) { lengthen(s, kMaxInlineSteps + 1); });
  check("", [&](Subject& s) {
    lengthen(s, kMaxInlineSteps + 1);
    s.problem.device_steps = s.steps.data();
  });
}

void check_steps() {
  check("a step names a plane that is not there", [](Subject& s) { s.steps[2].a_plane = 2; });
  check("a step names a plane that is not there", [](Subject& s) { s.steps[3].b_plane = 2; });
  check("a step's K range is not inside K", [](Subject& s) { s.steps[1].k_end = kLength + 1; });
  check("a step's K range is not inside K", [](Subject& s) { s.steps[1].k_begin = -128; });
  check("a step's K range is not inside K", [](Subject& s) { s.steps[1].k_begin = 256, s.steps[1].k_end = 128; });
  check("", [](Subject& s) { s.steps[1].k_begin = 128, s.steps[0].k_end = 256; });
  check("K ranges are cut at multiples of 128", [](Subject& s) { s.steps[1].k_begin = 64; });
  check("K ranges are cut at multiples of 128", [](Subject& s) { s.steps[0].k_end = 192; });
  check("K ranges of E2M1 codes are cut at multiples of 256", [](Subject& s) { s.steps[1].k_begin = 128; }, Element::e2m1);
  check("", [](Subject& s) { s.steps[1].k_begin = 256; }, Element::e2m1);
  check("steps after the store that ends a unit", [](Subject& s) { s.steps[0].action = Action::store_residue; });
  check("steps after the store that ends a unit", [](Subject& s) { s.steps[0].action = Action::store_int32; });
  check("a unit must end in a store", [](Subject& s) { s.steps[3].action = Action::carry_on; });
  check("a step stores to a plane that is not there", [](Subject& s) { s.steps[3].out_plane = 2; });
  check("bytes and words cannot be stored by one launch", [](Subject& s) { s.steps[3].action = Action::store_int32; });
  check("unknown action", [](Subject& s) { s.steps[0].action = static_cast<Action>(99); });
}

void check_folds() {
  check("a fold needs a modulus from 2 to 256", [](Subject& s) { s.steps[0].modulus = 1; });
  check("a fold needs a modulus from 2 to 256", [](Subject& s) { s.steps[1].modulus = 257; });
  check("wrong constants of a fold: use make_step", [](Subject& s) { s.steps[0].magic ^= 1; });
  check("wrong constants of a fold: use make_step", [](Subject& s) { s.steps[0].shift ^= 1; });
  check("wrong constants of a fold: use make_step",
        [](Subject& s) { s.steps[1].bytes = make_step(0, 0, 0, 0, Action::fold, 11).bytes; });
  check("an accumulator that may have wrapped cannot be folded", [](Subject& s) { s.steps[0].action = Action::multiply; });
  check("a negative multiplier needs signed planes", [](Subject& s) { s.steps[0].multiplier = -3; });
  check("a negative multiplier needs signed planes", [](Subject& s) { s.steps[1].multiplier = -3; });
  check("unsigned planes take no offset", [](Subject& s) { s.steps[0].offset_quotient = 1; });
  check("unsigned planes take no offset", [](Subject& s) { s.steps[1].offset_quotient = 1; });
  check("the sum may exceed the INT32 accumulator", [](Subject& s) { s.steps[0].offset_quotient = -1; });

  // kLength products of the bound, and 36 that the fold leaves.
  const std::uint32_t most = (1u << 31) - 1, longest = most / kLength;
  check("the sum may exceed the INT32 accumulator", [=](Subject& s) { s.problem.product_bound = longest + 1; });
  check("", [=](Subject& s) { s.problem.product_bound = (most - 36) / kLength; });

  for (const Element element : {Element::s8, Element::e2m1}) {
    const char* below = "the offset of a signed fold is below the largest sum";
    check("", [](Subject&) {}, element);
    for (const int step : {0, 1, 2, 3}) {
      // Offsets are multiples of the modulus: one less no longer reaches the sum.
      check(below, [=](Subject& s) { --s.steps[static_cast<std::size_t>(step)].offset_quotient; }, element);
      check("", [=](Subject& s) { ++s.steps[static_cast<std::size_t>(step)].offset_quotient; }, element);
      check(below, [=](Subject& s) { s.steps[static_cast<std::size_t>(step)].offset_quotient = 0; }, element);
    }
    check(below, [](Subject& s) { ++s.problem.product_bound; }, element);
    // A store's product is a residue times a multiplier: from 0 on, or else its offset must cover it, too.
    const auto store = [](Subject& s, int multiplier) {
      s.steps[0] = make_step(0, 0, 0, 0, Action::carry_on);
      s.steps[1] = make_step(0, 0, 0, 0, Action::store_residue, 13, multiplier, 0, 0);
    };
    check("", [=](Subject& s) { store(s, 3); }, element);
    check(below, [=](Subject& s) { store(s, -3); }, element);
    check("", [](Subject& s) { s.steps[1].multiplier = -3; }, element);
  }

  const std::uint32_t float_longest = (1u << 24) / kLength;
  const auto refold = [](Subject& s, std::uint32_t bound) {
    s.problem.product_bound = bound;
    for (int i = 0; i < 4; ++i) {
      GemmStep& x = s.steps[static_cast<std::size_t>(i)];
      x = make_step(x.a_plane, x.b_plane, 0, kLength, x.action, 13, x.multiplier, x.out_plane, bound * kLength + 36);
    }
  };
  check("", [=](Subject& s) { refold(s, float_longest - 1); }, Element::e2m1);
  check(
      "the sum may exceed 2^24, up to which FP32 accumulators are exact", [=](Subject& s) { refold(s, float_longest + 1); },
      Element::e2m1);
  check("", [=](Subject& s) { refold(s, float_longest + 1); }, Element::s8);
  check(
      "an action may leave more than 2^22 in an FP32 accumulator", [](Subject& s) { s.steps[0].multiplier = (1 << 22) / 12 + 1; },
      Element::e2m1);
}

void check_output() {
  check("output must be aligned to 16 bytes", [](Subject& s) { s.problem.out = nullptr; });
  check("output must be aligned to 16 bytes", [](Subject& s) { s.problem.out = place + 8; });
  const char* multiples = "pitch and stride of the output must be multiples of 16 bytes (2 words)";
  check(multiples, [](Subject& s) { s.problem.out_pitch = 24; });
  check(multiples, [](Subject& s) { s.problem.out_matrix_stride += 8; });
  for (const int n : {16, 17}) {
    check(n == 16 ? "" : "output rows or matrices overlap", [=](Subject& s) {
      s.problem.n = n;
      s.problem.b.batch_stride = n * 304;
      s.problem.b.plane_stride = 2 * n * 304;
    });
  }
  check("output rows or matrices overlap", [](Subject& s) { s.problem.out_matrix_stride -= 16; });
  const auto words = [](Subject& s, std::int64_t pitch) {
    s.steps = {make_step(0, 0, 0, kLength, Action::store_int32)};
    s.unit_begin = {0, 1};
    s.problem.out_pitch = pitch;
    s.problem.out_matrix_stride = 5 * pitch + pitch % 2;
  };
  check("", [=](Subject& s) { words(s, 8); });
  check(multiples, [=](Subject& s) { words(s, 9); });
}

void check_choice() {
  check("unknown tile shape", [](Subject& s) { s.choice.shape = static_cast<TileShape>(kTileShapes); });
  check("band and splits must be positive", [](Subject& s) { s.choice.band = 0; });
  check("too many output matrices", [](Subject& s) {
    s.choice.splits = 1 << 20;
    s.problem.out_planes = 1 << 10;
    s.unit_begin = {0, 2};
  });
}

}  // namespace

int main() {
  for (const Element element : {Element::u8, Element::s8, Element::e2m1}) check("", [](Subject&) {}, element);
  check_extent(&GemmProblem::m);
  check_extent(&GemmProblem::n);
  check_extent(&GemmProblem::k);
  check_operand(&GemmProblem::a);
  check_operand(&GemmProblem::b);
  check_batches();
  check_units();
  check_steps();
  check_folds();
  check_output();
  check_choice();
  return finish();
}
