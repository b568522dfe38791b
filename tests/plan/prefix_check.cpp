// How many moduli a rule of prefixes takes: more than any plan has, which Python cannot request.
#include <cstddef>
#include <stdexcept>

#include "check.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

using namespace ozfp4;

namespace {

// As many moduli as the rule has room for, and one more.
void check_prefix_rule() {
  Plan plan = make_plan({Scheme::two, Alphabet::int8, "least", 53, 1024});
  const std::size_t own = plan.groups.size();
  report("limits of all moduli", make_prefix_rule(plan, kMaxPrefixes).all == static_cast<int>(own));
  plan.groups.resize(kMaxModuli + 1, plan.groups.back());
  bool is_refused = false;
  try {
    make_prefix_rule(plan, kMaxPrefixes);
  } catch (const std::length_error&) {
    is_refused = true;
  }
  report("too many moduli for a rule", is_refused);
}

}  // namespace

int main() {
  check_prefix_rule();
  return finish();
}
