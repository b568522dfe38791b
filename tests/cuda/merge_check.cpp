// What repair takes of a second product, on a GPU: listed entries that it has certified, unless they are zero, and no others.
// Its values are marks that no repair would give, the operands are all ones.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda/repair/repair.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr int kMatrices = 2, kRows = 133, kColumns = 195, kInner = 5;
constexpr std::int64_t kPitch = 208, kListPitch = listed_pitch(kColumns);  // in entries, words

template <class X>
X* on_device(const std::vector<X>& from) {
  X* data = nullptr;
  REQUIRE(cudaMalloc(&data, from.size() * sizeof(X)));
  REQUIRE(cudaMemcpy(data, from.data(), from.size() * sizeof(X), cudaMemcpyHostToDevice));
  return data;
}
template <class X>
std::vector<X> read(const X* data, std::size_t count) {
  std::vector<X> to(count);
  REQUIRE(cudaMemcpy(to.data(), data, count * sizeof(X), cudaMemcpyDeviceToHost));
  return to;
}

// One in `one_in`, and all of the first tile: bits beyond the columns too, where they say nothing.
std::vector<std::uint32_t> draw_list(int one_in) {
  std::vector<std::uint32_t> words(kMatrices * kRows * kListPitch, 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_first_tile = i / kListPitch < 64 && i % kListPitch < 2;
    for (int bit = 0; bit < 32; ++bit) words[i] |= is_first_tile || random_int(1, one_in) == 1 ? 1u << bit : 0u;
  }
  return words;
}
bool is_in(const std::vector<std::uint32_t>& words, int line, int column) {
  return (words[static_cast<std::size_t>(line * kListPitch + column / 32)] >> (column % 32) & 1u) != 0;
}

Listed list_of(const std::vector<std::uint32_t>& words, RepairCounts* counts) {
  return {on_device(words), kListPitch, kRows * kListPitch, counts};
}

ScaledOperand ones(int lines) {
  ScaledOperand operand;
  operand.view = {reinterpret_cast<const char*>(on_device(std::vector<double>(kMatrices * lines * kInner, 1.0))),
                  ElementType::float64,
                  lines,
                  kInner,
                  8 * kInner,
                  8,
                  {}};
  operand.view.stack.rank = 1;
  operand.view.stack.extent[0] = kMatrices;
  operand.view.stack.stride[0] = 8 * kInner * lines;
  operand.record = on_device(std::vector<LineRecord>(static_cast<std::size_t>(kMatrices) * lines, {0, kInner, 0, 53, 0}));
  return operand;
}

// Results lie column by column, as nobody but a view would have them. Memory is left to the end of the program.
template <class T>
void check_merged(int one_in, int units_used) {
  const std::string name =
      std::to_string(sizeof(T)) + " bytes, one in " + std::to_string(one_in) + ", units " + std::to_string(units_used);
  const std::vector<std::uint32_t> words = draw_list(one_in), left = draw_list(3);
  std::uint64_t listed = 0;
  for (int line = 0; line < kMatrices * kRows; ++line) {
    for (int column = 0; column < kColumns; ++column) listed += is_in(words, line, column);
  }
  std::vector<T> values(kMatrices * kRows * kPitch);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 7 == 0 ? T(0) : i % 7 == 1 ? T(-0.0) : static_cast<T>(-1.0 - i);
  const std::vector<T> poison(kMatrices * kRows * kColumns, T(-0.5));
  std::vector<RepairCounts> before(2);
  before[0].listed = listed;
  before[1].listed = 77;
  RepairCounts* const counts = on_device(before);
  RepairReport* const report_at = on_device(std::vector<RepairReport>(1));
  RepairJob job;
  T* const result = on_device(poison);
  job.result.data = reinterpret_cast<char*>(result);
  job.result.type = sizeof(T) == 8 ? ElementType::float64 : ElementType::float32;
  job.result.rows = kRows;
  job.result.columns = kColumns;
  job.result.row_stride = sizeof(T);
  job.result.column_stride = kRows * sizeof(T);
  job.result.stack.rank = 1;
  job.result.stack.extent[0] = kMatrices;
  job.result.stack.stride[0] = kRows * kColumns * sizeof(T);
  job.result.a_step[0] = job.result.b_step[0] = 1;
  job.a = ones(kRows);
  job.b = ones(kColumns);
  job.listed = list_of(words, counts);
  job.longer = {on_device(std::vector<int>{units_used}), reinterpret_cast<const char*>(on_device(values)), kPitch,
                list_of(left, counts + 1)};
  job.report = report_at;
  launch_repair(job, nullptr);
  REQUIRE(cudaDeviceSynchronize());

  const std::vector<T> found = read(result, poison.size());
  bool is_right = true;
  for (int line = 0; line < kMatrices * kRows; ++line) {
    for (int column = 0; column < kColumns; ++column) {
      const T value = values[static_cast<std::size_t>(line * kPitch + column)];
      const bool is_merged = units_used != 0 && !is_in(left, line, column) && value != T(0);
      const T expected = !is_in(words, line, column) ? T(-0.5) : is_merged ? value : T(kInner);
      const int at = (line / kRows * kColumns + column) * kRows + line % kRows;
      is_right = is_right && found[static_cast<std::size_t>(at)] == expected;
    }
  }
  report(name + ": the entries", is_right);
  const RepairReport counted = read(report_at, 1)[0];
  report(name + ": the report", counted.listed == listed && counted.exact == 0 && counted.disjoint == 0);
  const std::vector<RepairCounts> after = read(counts, 2);
  report(name + ": the counts are zero",
         after[0].listed == 0 && after[0].arrived == 0 && (units_used == 0 || after[1].listed == 0));
}

}  // namespace

int main() {
  require_gpu();
  for (const int one_in : {1, 2, 40, 100000}) {
    for (const int units_used : {0, 14}) {
      check_merged<double>(one_in, units_used);
      check_merged<float>(one_in, units_used);
    }
  }
  return finish();
}
