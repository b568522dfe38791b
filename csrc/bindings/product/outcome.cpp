#include "bindings/product/outcome.hpp"

#include <pybind11/stl.h>

#include <utility>

#include "bindings/cpu/byte_kernel.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

py::dict outcome_dict(const MatmulOutcome& total) {
  py::dict outcome;
  outcome["by_planes"] = total.by_planes.count;
  outcome["in_words"] = total.in_words.count;
  outcome["by_limbs"] = total.by_limbs.count;
  outcome["word_moduli"] = total.in_words.moduli_used;
  outcome["limbs"] = total.limbs;
  outcome["limb_unit"] = total.limb_unit == nullptr ? "" : total.limb_unit->name;
  outcome["moduli_used"] = total.reported().moduli_used;
  outcome["products"] = total.reported().products;
  outcome["unit"] = named(total.kernel);
  outcome["workspace"] = total.workspace;
  const auto range = [](const LineRange& lines) {
    return lines.empty() ? std::make_pair(0, 0) : std::make_pair(lines.least, lines.largest);
  };
  outcome["exponents"] = range(total.exponents);
  outcome["capacities"] = range(total.capacities);
  outcome["special_rows"] = total.special_rows;
  outcome["special_columns"] = total.special_columns;
  outcome["certified_exact"] = total.entries.exact;
  outcome["certified_depth"] = total.entries.depth;
  outcome["certified_magnitude"] = total.entries.magnitude;
  outcome["certified_result"] = total.entries.result;
  outcome["chains"] = total.entries.chains;
  outcome["repaired_pairs"] = total.entries.pairs;
  outcome["repaired_exact"] = total.entries.exact_sums;
  outcome["largest_bound"] = total.entries.largest_bound;
  outcome["scale"] = total.times.scale;
  outcome["encode"] = total.times.encode;
  outcome["multiply"] = total.times.multiply;
  outcome["reconstruct"] = total.times.reconstruct;
  outcome["repair"] = total.times.repair;
  return outcome;
}

}  // namespace ozfp4::bindings
