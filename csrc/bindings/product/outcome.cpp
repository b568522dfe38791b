#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

#include "bindings/product/options.hpp"
#include "bindings/product/run.hpp"
#include "product/cpu/rates.hpp"
#include "product/cpu/units.hpp"
#include "product/trust/cpu.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;
using namespace product;

namespace {

py::dict seconds_of(const StageTimes& times) {
  py::dict seconds;
  seconds["scale"] = times.scale;
  seconds["encode"] = times.encode;
  seconds["multiply"] = times.multiply;
  seconds["reconstruct"] = times.reconstruct;
  return seconds;
}

// The fields of Python's Certified.
py::dict certified(const EntryCounts& entries) {
  py::dict counts;
  counts["exact"] = entries.exact;
  counts["depth"] = entries.depth;
  counts["magnitude"] = entries.magnitude;
  counts["result"] = entries.result;
  counts["chains"] = entries.chains;
  counts["repaired"] = entries.pairs;
  counts["repaired_exactly"] = entries.exact_sums;
  counts["total"] =
      entries.exact + entries.depth + entries.magnitude + entries.result + entries.chains + entries.pairs + entries.exact_sums;
  return counts;
}

// `plan`: that of the planes that were multiplied, or null.
py::dict counted(const MatmulOutcome& total, const Plan* plan) {
  py::dict outcome;
  outcome["kernel"] = plan == nullptr ? "" : planes_kernel(total.kernel, plan->alphabet).name().name;
  outcome["by_planes"] = total.by_planes.count;
  outcome["in_words"] = total.in_words.count;
  outcome["by_limbs"] = total.by_limbs.count;
  outcome["word_moduli"] = total.in_words.moduli_used;
  outcome["limbs"] = total.limbs;
  outcome["limb_unit"] = total.limb_unit == nullptr ? "" : total.limb_unit->name;
  outcome["moduli_used"] = total.reported().moduli_used;
  outcome["products"] = total.reported().products;
  outcome["workspace"] = total.workspace;
  outcome["exponents"] = range_of(total.exponents);
  outcome["capacities"] = range_of(total.capacities);
  outcome["special_rows"] = total.special_rows;
  outcome["special_columns"] = total.special_columns;
  outcome["largest_bound"] = total.entries.largest_bound;
  outcome["seconds"] = seconds_of(total.times);
  return outcome;
}

}  // namespace

py::dict outcome_dict(const Ran& ran, const Options& options, int precision, std::int64_t k) {
  py::dict outcome = counted(ran.outcome, ran.plan.get());
  outcome["plan"] = options.plan != nullptr ? py::object(py::none()) : py::object(plan_tuple(*ran.plan, k));
  if (options.accuracy != Accuracy::scaled) {
    outcome["certified"] = certified(ran.outcome.entries);
    outcome["seconds"]["repair"] = ran.outcome.times.repair;
  }
  outcome["reason"] = reason_of(options, precision, k);
  outcome["fallback"] = or_none(fallback_of(options, precision, k));
  return outcome;
}

py::dict outcome_dict(const IntegersRan& ran, const Options& options, int bits, std::int64_t k, bool is_exact) {
  py::dict outcome;
  if (ran.plan != nullptr && ran.plan->scheme == Scheme::integer) {
    outcome = counted(ran.outcome, ran.plan.get());
    outcome["plan"] = py::none();
    outcome["fallback"] = py::none();
    outcome["reason"] = "int8 products are of FP4 limbs";
  } else if (ran.plan != nullptr) {
    outcome = outcome_dict(ran, integer_plan_options(options, bits), 53, std::max<std::int64_t>(k, 1));
    if (outcome["fallback"].is_none() && may_go_direct(options)) outcome["fallback"] = or_none(failure_of_direct());
  } else {
    outcome = counted(ran.outcome, nullptr);
    outcome["reason"] = is_exact ? "the norms of rows and columns say that the product fits machine words"
                                 : "integers are multiplied as they are";
    outcome["fallback"] = py::none();
  }
  outcome["word_bits"] = ran.word_bits;
  outcome["overflows"] = ran.overflows;
  return outcome;
}

}  // namespace ozfp4::bindings
