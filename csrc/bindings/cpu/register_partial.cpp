// Products of which every place holds a piece of K, for `ozfp4.distributed`. They are facts of the pieces of lines, the scales
// that they share, residues of a piece, and results from those of all pieces. The GPU uses the facts and scales, too. That arrays
// have the extents and dtypes of the product is the caller's, ozfp4._backends.partial, which allocates them.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/product/options.hpp"
#include "bindings/register.hpp"
#include "bindings/views.hpp"
#include "cpu/partial/partial.hpp"
#include "cpu/reconstruct/certified.hpp"
#include "cpu/reconstruct/reconstruct.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/scale/scale.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::bindings {
namespace {

using Words = py::array_t<std::int64_t, py::array::c_style>;

constexpr std::int64_t kLineGrain = 4096;  // lines that a thread combines at least

// [line][kPieceWords], of the rows of a matrix or, `is_right`, of its columns.
Words piece_facts(const py::array& operand, bool is_right) {
  const OperandView view = operand_view(operand, is_right);
  Words words(std::vector<py::ssize_t>{view.outer, kPieceWords});
  std::int64_t* data = words.mutable_data();
  const Unlocked unlocked;
  const DefaultFpMode mode;
  const std::vector<PieceFacts> pieces = cpu_piece_facts(view);
  for (std::size_t i = 0; i < pieces.size(); ++i) to_words(pieces[i], data + i * kPieceWords);
  return words;
}

// A product of which every place holds a piece of K: the scales of whole lines, and the stages by them on the CPU. Lines are the
// rows of A, then the columns of B.
class Pieces {
 public:
  // `words`: [place][line][kPieceWords], of `rows` rows of A and of columns of B; `k`: entries of a whole line; `prefixes`: so
  // many of the largest counts of moduli are tried.
  Pieces(std::shared_ptr<const Plan> plan, const Words& words, std::int64_t rows, std::int64_t k, const std::string& accuracy,
         const std::string& rounding, int precision, int prefixes)
      : plan_(std::move(plan)), promise_{accuracy_named(accuracy), precision}, rounding_(rounding_named(rounding)), k_(k) {
    const std::int64_t* data = words.data();
    const std::int64_t places = words.shape(0), lines = words.shape(1);
    const Unlocked unlocked;
    const DefaultFpMode mode;
    std::vector<PieceFacts> whole(static_cast<std::size_t>(lines));
    parallel_for(lines, kLineGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        PieceFacts& line = whole[static_cast<std::size_t>(i)];
        line = piece_of_words(data + i * kPieceWords);
        for (std::int64_t place = 1; place < places; ++place) {
          line = combine(line, piece_of_words(data + (place * lines + i) * kPieceWords));
        }
      }
    });
    const ScaleRequest request{promise_.accuracy, plan_->bits, precision};
    a_ = scales_of({whole.begin(), whole.begin() + rows}, k, request);
    b_ = scales_of({whole.begin() + rows, whole.end()}, k, request);
    const PrefixRule rule = make_prefix_rule(*plan_, std::min(prefixes, plan_->count()));
    count_ = moduli_needed(rule, a_.norm_squared * b_.norm_squared);
  }

  int count() const { return count_; }
  int groups() const { return plan_->groups_of(count_); }
  std::int64_t entry_bytes() const { return plan_->output_bytes(); }

  // Whether the lines certify all entries of their product, see arith/accuracy/certificate.hpp; false says nothing.
  bool certain() const {
    if (!promise_.certifies() || k_ < 1 || k_ >= std::int64_t(1) << 31) return false;
    const auto extremes = [k = k_](const Scales& scales) {
      LineExtremes all{};
      for (std::size_t i = 0; i < scales.records.size(); ++i) {
        all = combine(all, line_extremes(scales.records[i], scales.special[i] != kFinite, k));
      }
      return all;
    };
    return is_certain(extremes(a_), extremes(b_), promise_.accuracy, k_);
  }

  py::array_t<std::int32_t> shift() const { return joined(&Scales::shift); }
  py::array_t<std::uint8_t> special() const { return joined(&Scales::special); }
  // LineRecord as int64 words: depth, nonzeros, rounded, then capacity and exponent.
  Words records() const {
    static_assert(sizeof(LineRecord) == 4 * sizeof(std::int64_t), "four words each");
    Words words(std::vector<py::ssize_t>{static_cast<py::ssize_t>(a_.records.size() + b_.records.size()), 4});
    auto* const records = reinterpret_cast<LineRecord*>(words.mutable_data());
    std::copy(b_.records.begin(), b_.records.end(), std::copy(a_.records.begin(), a_.records.end(), records));
    return words;
  }

  // How many entries of a piece the scales round, of lines that they do not make exact; one count a line.
  Words count_rounded(const py::array& a, const py::array& b) const {
    const OperandView view_a = operand_view(a, false), view_b = operand_view(b, true);
    Words counts(lines(a_) + lines(b_));
    std::int64_t* data = counts.mutable_data();
    const Unlocked unlocked;
    const DefaultFpMode mode;
    for (const auto& [view, scales] : {std::pair(view_a, &a_), std::pair(view_b, &b_)}) {
      Scales own = *scales;
      cpu_count_rounded(view, own);
      for (const LineRecord& record : own.records) *data++ = static_cast<std::int64_t>(record.rounded);
    }
    return counts;
  }

  // Sums over all pieces of what count_rounded finds.
  void set_rounded(const Words& counts) {
    const std::int64_t* data = counts.data();
    for (Scales* scales : {&a_, &b_}) {
      for (LineRecord& record : scales->records) record.rounded = static_cast<std::uint64_t>(*data++);
    }
  }

  // Writes the residues of a piece: of the rows of A from `first_row` on, times the columns of B from `first_column` on.
  void residues(const py::array& a, std::int64_t first_row, const py::array& b, std::int64_t first_column, py::array out,
                std::int64_t workspace_limit) const {
    const OperandView view_a = operand_view(a, false), view_b = operand_view(b, true);
    LineScales lines_a = line_scales(a_), lines_b = line_scales(b_);
    lines_a.shift += first_row;
    lines_b.shift += first_column;
    void* data = out.mutable_data();
    const Unlocked unlocked;
    const DefaultFpMode mode;
    cpu_residues(*plan_, count_, {view_a, lines_a}, {view_b, lines_b}, workspace_limit, data);
  }

  // Rounds the sums of the residues of all pieces, which become the first one's, into `out`. Returns the rows and columns
  // [entry][2] of void results, those without a certificate. Results of special lines are void, too, and not among these.
  Words finish(py::array received, std::int64_t first_row, std::int64_t first_column, py::array out) const {
    const std::int64_t rows = out.shape(0), columns = out.shape(1);
    const ElementType type = element_type(out);
    if (k_ < 1 && rows * columns > 0) throw py::value_error("k: 1 or more is needed");
    Target target{{static_cast<char*>(out.mutable_data()), type, rows, columns, out.strides(0), out.strides(1)}, rounding_};
    char* const sums = static_cast<char*>(received.mutable_data());
    const std::int64_t pieces = received.shape(0), piece_bytes = received.strides(0);
    std::vector<std::int64_t> found;
    {
      const Unlocked unlocked;
      const DefaultFpMode mode;
      for (std::int64_t piece = 1; piece < pieces; ++piece) {
        cpu_add_residues(*plan_, count_, rows * columns, sums, sums + piece * piece_bytes);
      }
      if (!promise_.certifies()) {
        cpu_reconstruct(*plan_, count_, sums, a_.shift.data() + first_row, b_.shift.data() + first_column, target.result);
      } else {
        Listed listed(rows, columns);
        const BlockLines of_a(a_, first_row), of_b(b_, first_column);
        cpu_reconstruct_certified(*plan_, count_, sums, promise_, k_, of_a, of_b, nullptr, target, listed);
        for (const Listed::Place& place : listed.places()) {
          for (std::uint64_t word = listed.word(place.row, place.index); word != 0; word &= word - 1) {
            found.push_back(first_row + place.row);
            found.push_back(first_column + 64 * static_cast<std::int64_t>(place.index) + __builtin_ctzll(word));
          }
        }
      }
    }
    Words places(std::vector<py::ssize_t>{static_cast<py::ssize_t>(found.size() / 2), 2});
    std::copy(found.begin(), found.end(), places.mutable_data());
    return places;
  }

 private:
  static std::int64_t lines(const Scales& scales) { return static_cast<std::int64_t>(scales.shift.size()); }

  template <class T>
  py::array_t<T> joined(std::vector<T> Scales::* values) const {
    py::array_t<T> found(lines(a_) + lines(b_));
    const std::vector<T>&a = a_.*values, &b = b_.*values;
    std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), found.mutable_data()));
    return found;
  }

  std::shared_ptr<const Plan> plan_;
  Promise promise_;
  Rounding rounding_;
  std::int64_t k_;
  Scales a_, b_;
  int count_ = 0;
};

}  // namespace

void register_partial(py::module_& module) {
  module.attr("piece_words") = kPieceWords;
  module.def("piece_facts", &piece_facts);
  py::class_<Pieces>(module, "Pieces")
      .def(py::init<std::shared_ptr<Plan>, const Words&, std::int64_t, std::int64_t, const std::string&, const std::string&, int,
                    int>())
      .def_property_readonly("count", &Pieces::count)
      .def_property_readonly("groups", &Pieces::groups)
      .def_property_readonly("entry_bytes", &Pieces::entry_bytes)
      .def_property_readonly("is_certain", &Pieces::certain)
      .def_property_readonly("shift", &Pieces::shift)
      .def_property_readonly("special", &Pieces::special)
      .def_property_readonly("records", &Pieces::records)
      .def("count_rounded", &Pieces::count_rounded)
      .def("set_rounded", &Pieces::set_rounded)
      .def("residues", &Pieces::residues)
      .def("finish", &Pieces::finish);
}

}  // namespace ozfp4::bindings
