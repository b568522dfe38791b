#include "product/prepared.hpp"

#include <string>

#include "product/refusal.hpp"

namespace ozfp4::product {

bool are_alike(const Prepared& a, const Prepared& b) {
  const Plan &own = *a.plan, &of = *b.plan;
  const bool has_same_plan = own.scheme == of.scheme && own.family == of.family && own.bits == of.bits &&
                             std::string(own.alphabet.name) == of.alphabet.name && own.is_complex == of.is_complex &&
                             own.planes_a == of.planes_a;
  return has_same_plan && a.type.part == b.type.part && a.type.is_complex == b.type.is_complex && a.accuracy == b.accuracy;
}

Options options_of_prepared(Options options, const Prepared& made) {
  const Plan& plan = *made.plan;
  const char* name = options.has_accuracy && options.accuracy != made.accuracy                                  ? "accuracy"
                     : options.has_scheme && options.scheme != plan.scheme                                      ? "scheme"
                     : options.alphabet != nullptr && std::string(options.alphabet->name) != plan.alphabet.name ? "backend"
                     : options.has_family && options.family != plan.family                                      ? "family"
                     : options.bits != 0 && options.bits != plan.bits                                           ? "bits"
                     : options.plan != nullptr && options.plan != made.plan                                     ? "plan"
                                                                                                                : nullptr;
  if (name != nullptr) refuse_option(name, "it is not what the operand was prepared for");
  options.accuracy = made.accuracy;
  options.plan = nullptr;
  return options;
}

}  // namespace ozfp4::product
