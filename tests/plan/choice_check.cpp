// csrc/plan/choice.hpp: the cheapest unit first; equal requests share one plan, until there are too many.
// csrc/plan/cuts.hpp: how results are cut.
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "check.hpp"
#include "plan/choice.hpp"
#include "plan/cuts.hpp"

using namespace ozfp4;

namespace {

std::shared_ptr<const Plan> asked(std::int64_t k, bool is_paired = false) {
  PlanRequest request;
  request.alphabet = Alphabet::int8;
  request.k = k;
  return find_plan(request, is_paired);
}

// The error of ranking a unit with limbs that do not make the residues of its recipes.
std::string error_of_broken_unit() {
  static constexpr std::int8_t kFew[] = {1};
  Alphabet broken = Alphabet::fp4;
  broken.name = "broken";
  broken.magnitudes = kFew;
  PlanRequest request;
  request.k = 100;
  try {
    rank_units(request, {{&broken, 1.0}});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

PlanRequest request_of(Scheme scheme, int bits, std::int64_t k) { return {scheme, Alphabet::fp4, "least", bits, k, false}; }

void check_ranks() {
  for (const Scheme scheme : {Scheme::one, Scheme::two}) {
    for (const int bits : {24, 53, 76, 90}) {
      for (const std::int64_t k : {std::int64_t(1), std::int64_t(300), std::int64_t(1) << 20}) {
        const std::vector<UnitRate> units{{&Alphabet::fp64, 1.0}, {&Alphabet::int8, 1.9}, {&Alphabet::fp4, 1.9}};
        std::vector<std::pair<double, const Alphabet*>> expected;
        for (const UnitRate& unit : units) {
          PlanRequest own = request_of(scheme, bits, k);
          own.alphabet = *unit.alphabet;
          try {
            expected.emplace_back(make_plan(own).products() / unit.rate, unit.alphabet);
          } catch (const std::exception&) {  // it has no plan
          }
        }
        std::stable_sort(expected.begin(), expected.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        const std::vector<RankedUnit> ranked = rank_units(request_of(scheme, bits, k), units);
        bool is_right = ranked.size() == expected.size();
        for (std::size_t i = 0; is_right && i < ranked.size(); ++i) is_right = ranked[i].alphabet == expected[i].second;
        report("units go by products over rate", is_right, std::to_string(bits) + " bits, K = " + std::to_string(k));
      }
    }
  }
  std::vector<UnitRate> equals;
  for (const Alphabet* alphabet : alphabets()) {
    PlanRequest own = request_of(Scheme::two, 53, 100);
    own.alphabet = *alphabet;
    equals.push_back({alphabet, static_cast<double>(make_plan(own).products())});
  }
  for (int turn = 0; turn < 2; ++turn, std::reverse(equals.begin(), equals.end())) {
    const std::vector<RankedUnit> ranked = rank_units(request_of(Scheme::two, 53, 100), equals);
    const auto is_same = [](const RankedUnit& x, const UnitRate& y) { return x.alphabet == y.alphabet; };
    report("among equals the first one", std::equal(ranked.begin(), ranked.end(), equals.begin(), equals.end(), is_same));
  }
  const PlanRequest paper{Scheme::two, Alphabet::fp4, "paper", 53, 100, false};
  report("a unit without a plan has no rank", rank_units(paper, {{&Alphabet::int8, 1.0}}).empty());
}

void check_cuts() {
  const auto is_cut = [](const CopyBytes& bytes, std::int64_t budget, std::int64_t rows, std::int64_t columns) {
    const Extents block = cut_for_copies(10, 20, bytes, budget);
    return block.rows == rows && block.columns == columns;
  };
  report("whole results", is_cut({8, 64, 0}, 2000, 10, 20));
  report("fewer columns", is_cut({8, 64, 0}, 600, 10, 3));
  report("fewer of both", is_cut({0, 64, 16}, 600, 4, 3));
  report("whole rows", is_cut({0, 64, 16, true, false}, 600, 10, 1));
  report("whole columns", is_cut({8, 0, 16, false, true}, 900, 1, 20));
  const Extents none = cut_for_copies(0, 0, {8, 8, 8}, 0);
  report("nothing to cut", none.rows == 1 && none.columns == 1);
  for (const std::int64_t budget : {100, 1000, 10000}) {
    const Extents block = cut_for_copies(1000, 1000, {8, 16, 4}, budget);
    report("below the budget", 8 * block.rows + 16 * block.columns + 4 * block.rows * block.columns <= budget);
  }
  for (const std::int64_t extent : {0, 1, 63, 64, 600, 5000, 12345}) {
    const std::vector<ColumnRange> blocks = gram_blocks(extent, 256);
    bool covers = blocks.front().first == 0 && blocks.back().last == extent;
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      covers = covers && blocks[i].first == blocks[i - 1].last && blocks[i].first % 64 == 0;
    }
    report("blocks of symmetric results cover all columns", covers, std::to_string(extent));
  }
}

}  // namespace

int main() {
  const std::shared_ptr<const Plan> first = asked(1), second = asked(2), paired = asked(2, true);
  report("the same again", asked(1) == first && asked(2) == second && asked(2, true) == paired);
  report("others for others", first != second && second != paired && paired->is_complex && !second->is_complex);
  for (std::int64_t k = 3; k < 2000; ++k) asked(k);
  report("beside many", asked(1) == first && asked(2, true) == paired);
  for (std::int64_t k = 2000; k < 4000; ++k) asked(k);
  report("too many are made anew", asked(1) != first && asked(2) != second);
  report("and once", asked(1) == asked(1));
  const std::string error = error_of_broken_unit();
  report("a broken plan is an error", error.find("the limbs of broken give no residue") != std::string::npos, error);
  check_ranks();
  check_cuts();
  return finish();
}
