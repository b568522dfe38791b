#include "c_api/product/integer_plan.hpp"

#include <string>

#include "c_api/checked/status.hpp"

namespace ozfp4::c_api {

Options integer_plan_options(const Options& options, const IntegerProduct& product) {
  const int bits = product.bits();
  Options own = options;
  if (options.plan == nullptr) {
    own.bits = bits;
  } else if (options.plan->plan->bits < bits) {
    refuse("options.plan: its bits are " + std::to_string(options.plan->plan->bits) + ", these integers need " +
           std::to_string(bits));
  }
  return own;
}

}  // namespace ozfp4::c_api
