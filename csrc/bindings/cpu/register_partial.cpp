// Products of which every place holds a piece of K: facts of the pieces of lines, the scales that they share, residues of a
// piece, their sums, and results of the sums. `ozfp4.distributed` is what calls it; the facts and scales serve the GPU, too.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arith/accuracy/certain.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/product/options.hpp"
#include "bindings/register.hpp"
#include "bindings/views.hpp"
#include "cpu/accuracy/certified.hpp"
#include "cpu/partial/partial.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/stages/reconstruct.hpp"
#include "cpu/stages/scale.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::bindings {
namespace {

using Words = py::array_t<std::int64_t, py::array::c_style>;

constexpr std::int64_t kLineGrain = 4096;  // lines that a thread combines at least

// [line][kPieceWords], of the rows of a matrix or, `is_right`, of its columns.
Words piece_facts(const py::array& operand, bool is_right) {
  const OperandView view = operand_view(operand, is_right);
  if (!is_float(view.type)) throw py::type_error("operand: float64 or float32 is needed");
  Words words(std::vector<py::ssize_t>{view.outer, kPieceWords});
  std::int64_t* data = words.mutable_data();
  const Unlocked unlocked;
  const DefaultFpMode mode;
  const std::vector<PieceFacts> pieces = cpu_piece_facts(view);
  for (std::size_t i = 0; i < pieces.size(); ++i) to_words(pieces[i], data + i * kPieceWords);
  return words;
}

// Scales of whole lines, made from the facts of all of their pieces.
class SharedScales {
 public:
  // `words`: [place][line][kPieceWords]; `k`: entries of a whole line; `bits`: of the plan.
  SharedScales(const Words& words, std::int64_t k, const std::string& accuracy, int bits, int precision)
      : is_scaled_(accuracy_named(accuracy) == Accuracy::scaled) {
    require_dimensions(words, 3);
    if (words.shape(0) < 1 || words.shape(2) != kPieceWords) throw py::value_error("words: [place][line][6], one place at least");
    if (k < 0) throw py::value_error("k: it is negative");
    if (bits < kLeastBits || bits > kMostBits) throw py::value_error("bits: outside 2..200");
    if (precision != 53 && precision != 24) throw py::value_error("precision: 53 or 24");
    if (!is_scaled_ && bits < accuracy_bits(accuracy_named(accuracy), precision))
      throw py::value_error("bits: too few for the accuracy");
    const auto lines = static_cast<std::size_t>(words.shape(1));
    const std::int64_t* data = words.data();
    const auto places = static_cast<std::size_t>(words.shape(0));
    const Unlocked unlocked;
    const DefaultFpMode mode;
    std::vector<PieceFacts> whole(lines);
    parallel_for(static_cast<std::int64_t>(lines), kLineGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        whole[i] = piece_of_words(data + i * kPieceWords);
        for (std::size_t place = 1; place < places; ++place) {
          whole[i] = combine(whole[i], piece_of_words(data + (place * lines + i) * kPieceWords));
        }
      }
    });
    scales_ = scales_of(whole, k, {accuracy_named(accuracy), bits, precision});
  }

  const Scales& scales() const { return scales_; }
  bool has_records() const { return !is_scaled_; }
  std::int64_t lines() const { return static_cast<std::int64_t>(scales_.shift.size()); }

  py::array_t<std::int32_t> shift() const {
    return py::array_t<std::int32_t>(static_cast<py::ssize_t>(scales_.shift.size()), scales_.shift.data());
  }
  py::array_t<std::uint8_t> special() const {
    return py::array_t<std::uint8_t>(static_cast<py::ssize_t>(scales_.special.size()), scales_.special.data());
  }
  // LineRecord as int64 words: depth, nonzeros, rounded, then capacity and exponent.
  Words records() const {
    static_assert(sizeof(LineRecord) == 4 * sizeof(std::int64_t), "four words each");
    Words words(std::vector<py::ssize_t>{static_cast<py::ssize_t>(scales_.records.size()), 4});
    if (!scales_.records.empty()) {
      std::memcpy(words.mutable_data(), scales_.records.data(), scales_.records.size() * sizeof(LineRecord));
    }
    return words;
  }

  // How many entries of a piece the scales round, of lines that they do not make exact; one count a line.
  Words count_rounded(const py::array& operand, bool is_right) const {
    if (!has_records()) throw py::value_error("the accuracy scaled counts nothing");
    const OperandView view = operand_view(operand, is_right);
    if (!is_float(view.type)) throw py::type_error("operand: float64 or float32 is needed");
    if (view.outer != lines()) throw py::value_error("operand: it has other lines");
    Words counts(static_cast<py::ssize_t>(lines()));
    std::int64_t* data = counts.mutable_data();
    const Unlocked unlocked;
    const DefaultFpMode mode;
    Scales own = scales_;
    cpu_count_rounded(view, own);
    for (std::size_t i = 0; i < own.records.size(); ++i) data[i] = static_cast<std::int64_t>(own.records[i].rounded);
    return counts;
  }

  // Sums over all pieces of what count_rounded tells.
  void set_rounded(const Words& counts) {
    if (!has_records() || counts.ndim() != 1 || counts.shape(0) != lines()) throw py::value_error("counts: one a line is needed");
    for (std::size_t i = 0; i < scales_.records.size(); ++i) {
      scales_.records[i].rounded = static_cast<std::uint64_t>(counts.at(static_cast<py::ssize_t>(i)));
    }
  }

 private:
  bool is_scaled_;
  Scales scales_;
};

// Whether the lines certify all entries of their product, see arith/accuracy/certain.hpp; false says nothing.
bool certain(const SharedScales& a, const SharedScales& b, std::int64_t k, const std::string& accuracy) {
  if (!a.has_records() || !b.has_records() || k < 1 || k >= std::int64_t(1) << 31) return false;
  const auto extremes = [k](const Scales& scales) {
    LineExtremes all{};
    for (std::size_t i = 0; i < scales.records.size(); ++i) {
      all = combine(all, line_extremes(scales.records[i], scales.special[i] != kFinite, k));
    }
    return all;
  };
  return is_certain(extremes(a.scales()), extremes(b.scales()), accuracy_named(accuracy), k);
}

void require_residue_plan(const Plan& plan, int count) {
  if (!plan.has_moduli() || plan.is_complex) throw py::value_error("plan: one of scheme II for real products is needed");
  if (count < 1 || count > plan.count()) throw py::value_error("count: outside the plan's moduli");
}

// Of the last `prefixes` counts the least whose moduli hold every entry of a product of lines of these squared norms.
int needed(const Plan& plan, int prefixes, double norms) {
  require_residue_plan(plan, plan.count());
  return moduli_needed(make_prefix_rule(plan, std::min(prefixes, plan.count())), norms);
}

// Residues as [group][row][column] bytes or uint32, C-contiguous and writable.
void require_residues(const Plan& plan, int count, const py::array& residues, std::int64_t rows, std::int64_t columns) {
  require_residue_plan(plan, count);
  require_dimensions(residues, 3);
  if (residues.itemsize() != output_entry_bytes(plan) || residues.dtype().kind() != 'u') {
    throw py::type_error("residues: unsigned integers of " + std::to_string(output_entry_bytes(plan)) + " bytes are needed");
  }
  if ((residues.flags() & py::array::c_style) == 0) throw py::value_error("residues: not C-contiguous");
  if (residues.shape(0) != plan.groups_of(count) || residues.shape(1) != rows || residues.shape(2) != columns) {
    throw py::value_error("residues: [group][row][column] of the operands' extents is needed");
  }
}

ShiftedOperand shifted(const OperandView& view, const SharedScales& scales, std::int64_t first, const char* name) {
  if (!is_float(view.type)) throw py::type_error(std::string(name) + ": float64 or float32 is needed");
  if (first < 0 || first + view.outer > scales.lines()) {
    throw py::value_error(std::string(name) + ": it has more lines than the scales");
  }
  LineScales lines = line_scales(scales.scales());
  lines.shift += first;
  return {view, lines};
}

// Writes the residues of a piece: a, rows from `first_row` on of the scales, times b, columns from `first_column` on.
void residues(const Plan& plan, int count, const py::array& a, const py::array& b, const SharedScales& scales_a,
              std::int64_t first_row, const SharedScales& scales_b, std::int64_t first_column, py::array out,
              std::int64_t workspace_limit) {
  const OperandView view_a = operand_view(a, false), view_b = operand_view(b, true);
  if (view_a.inner != view_b.inner) throw py::value_error("b: another inner dimension than that of a");
  if (view_a.inner > plan.k_max) throw py::value_error("a: the inner dimension exceeds the plan's k_max");
  require_residues(plan, count, out, view_a.outer, view_b.outer);
  const ShiftedOperand own_a = shifted(view_a, scales_a, first_row, "a"), own_b = shifted(view_b, scales_b, first_column, "b");
  void* data = out.mutable_data();
  const Unlocked unlocked;
  const DefaultFpMode mode;
  cpu_residues(plan, count, own_a, own_b, workspace_limit, data);
}

void add_residues(const Plan& plan, int count, py::array sum, const py::array& part) {
  require_dimensions(sum, 3);
  require_residues(plan, count, sum, sum.shape(1), sum.shape(2));
  require_residues(plan, count, part, sum.shape(1), sum.shape(2));
  const std::int64_t entries = sum.shape(1) * sum.shape(2);
  void* data = sum.mutable_data();
  const Unlocked unlocked;
  cpu_add_residues(plan, count, entries, data, part.data());
}

// Rounds the sums of all pieces into `out`; returns the places [entry][2] of those whose results are void, as nothing certifies
// them. Results of special lines are void, too, and not among these.
Words finish(const Plan& plan, int count, const py::array& sums, std::int64_t k, const std::string& accuracy,
             const std::string& rounding, const SharedScales& scales_a, std::int64_t first_row, const SharedScales& scales_b,
             std::int64_t first_column, py::array out) {
  require_dimensions(out, 2);
  const std::int64_t rows = out.shape(0), columns = out.shape(1);
  require_residues(plan, count, sums, rows, columns);
  if (first_row < 0 || first_row + rows > scales_a.lines()) throw py::value_error("out: it has more rows than the scales");
  if (first_column < 0 || first_column + columns > scales_b.lines()) throw py::value_error("out: more columns than the scales");
  const Promise promise{accuracy_named(accuracy), element_type(out) == ElementType::float64 ? 53 : 24};
  if (promise.certifies() && !(scales_a.has_records() && scales_b.has_records())) {
    throw py::value_error("scales: they were made for another accuracy");
  }
  if (k < 1 && rows * columns > 0) throw py::value_error("k: 1 or more is needed");
  Target target{{static_cast<char*>(out.mutable_data()), element_type(out), rows, columns, out.strides(0), out.strides(1)},
                rounding_named(rounding)};
  std::vector<std::int64_t> found;
  {
    const Unlocked unlocked;
    const DefaultFpMode mode;
    const Scales &a = scales_a.scales(), &b = scales_b.scales();
    if (!promise.certifies()) {
      cpu_reconstruct(plan, count, sums.data(), a.shift.data() + first_row, b.shift.data() + first_column, target.result);
    } else {
      Listed listed(rows, columns);
      cpu_reconstruct_certified(plan, count, sums.data(), promise, k, {a, first_row}, {b, first_column}, nullptr, target, listed);
      for (const Listed::Place& place : listed.places()) {
        for (std::uint64_t word = listed.word(place.row, place.index); word != 0; word &= word - 1) {
          found.push_back(place.row);
          found.push_back(64 * static_cast<std::int64_t>(place.index) + __builtin_ctzll(word));
        }
      }
    }
  }
  Words places(std::vector<py::ssize_t>{static_cast<py::ssize_t>(found.size() / 2), 2});
  std::copy(found.begin(), found.end(), places.mutable_data());
  return places;
}

}  // namespace

void register_partial(py::module_& module) {
  py::class_<SharedScales>(module, "SharedScales")
      .def(py::init<const Words&, std::int64_t, const std::string&, int, int>(), py::arg("words"), py::arg("k"),
           py::arg("accuracy"), py::arg("bits"), py::arg("precision"))
      .def_property_readonly("lines", &SharedScales::lines)
      .def_property_readonly("shift", &SharedScales::shift)
      .def_property_readonly("special", &SharedScales::special)
      .def_property_readonly("records", &SharedScales::records)
      .def_property_readonly("norm_squared", [](const SharedScales& self) { return self.scales().norm_squared; })
      .def_property_readonly("special_lines", [](const SharedScales& self) { return self.scales().special_lines; })
      .def("count_rounded", &SharedScales::count_rounded, py::arg("operand"), py::arg("is_right"))
      .def("set_rounded", &SharedScales::set_rounded, py::arg("counts"));
  module.attr("piece_words") = kPieceWords;
  module.def("piece_facts", &piece_facts, py::arg("operand"), py::arg("is_right"));
  module.def("is_certain", &certain, py::arg("a"), py::arg("b"), py::arg("k"), py::arg("accuracy"));
  module.def("moduli_needed", &needed, py::arg("plan"), py::arg("prefixes"), py::arg("norms"));
  module.def(
      "residue_bytes",
      [](const Plan& plan) {
        require_residue_plan(plan, 1);
        return output_entry_bytes(plan);
      },
      py::arg("plan"));
  module.def("groups_of", [](const Plan& plan, int count) { return plan.groups_of(count); }, py::arg("plan"), py::arg("count"));
  module.def("residues", &residues, py::arg("plan"), py::arg("count"), py::arg("a"), py::arg("b"), py::arg("scales_a"),
             py::arg("first_row"), py::arg("scales_b"), py::arg("first_column"), py::arg("out").noconvert(),
             py::arg("workspace_limit"));
  module.def("add_residues", &add_residues, py::arg("plan"), py::arg("count"), py::arg("sum").noconvert(), py::arg("part"));
  module.def("finish_residues", &finish, py::arg("plan"), py::arg("count"), py::arg("sums"), py::arg("k"), py::arg("accuracy"),
             py::arg("rounding"), py::arg("scales_a"), py::arg("first_row"), py::arg("scales_b"), py::arg("first_column"),
             py::arg("out").noconvert());
}

}  // namespace ozfp4::bindings
