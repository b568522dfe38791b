// csrc/plan/choice.hpp: plans are made once for all who ask for the same, until there are too many.
#include <exception>
#include <string>

#include "check.hpp"
#include "plan/choice.hpp"

using namespace ozfp4;

namespace {

std::shared_ptr<const Plan> asked(std::int64_t k, bool is_paired = false) {
  PlanRequest request;
  request.alphabet = Alphabet::int8;
  request.k = k;
  return find_plan(request, is_paired);
}

// What ranking a unit says whose limbs do not make the residues that its recipes name.
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
  return finish();
}
