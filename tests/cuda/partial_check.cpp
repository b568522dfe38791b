// What the stages say of pieces of K, without a GPU: every part of a result begins where they can read and write, whatever its
// extents.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "cuda/partial/partial.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

const Gpu kGpu{90, 132, 227 * 1024};

template <class T>
T* address(std::int64_t offset) {
  return reinterpret_cast<T*>(256 + offset);
}

std::string refusal(Alphabet alphabet, Kernel kernel, int bits, Accuracy accuracy, std::int32_t inner, std::int32_t first,
                    std::int32_t count, int pieces) {
  Promise promise;
  promise.accuracy = accuracy;
  const Plan plan =
      make_plan({Scheme::two, alphabet, "least", promise.certifies() ? accuracy_bits(Accuracy::correct, 53) : bits, 4 * inner});
  const CudaPlan piece = make_cuda_plan(plan, inner, kernel, promise), whole = make_cuda_plan(plan, 4 * inner, kernel, promise);
  const std::int32_t lines = first + count;
  ScaledOperand operand;
  operand.view = {address<const char>(0), ElementType::float64, lines, inner, 8 * std::int64_t(inner), 8, {}};
  operand.shift = address<std::int32_t>(0);
  if (promise.has_records()) operand.record = address<LineRecord>(0);
  const Verdict* verdict = address<const Verdict>(0);
  DeviceResult result;
  result.data = address<char>(0);
  result.rows = result.columns = count;
  result.row_stride = 8 * count;
  result.column_stride = 8;
  Listed listed;
  if (promise.certifies()) listed = {address<std::uint32_t>(0), listed_pitch(count), count * listed_pitch(count), nullptr};
  // The residues of a part lie behind those of another one, of `first` rows.
  const std::int64_t part = 3 * first * residue_pitch(count);
  try {
    encode_piece(piece, operand, address<std::uint8_t>(0), verdict, Stages(piece, kGpu));
    const PieceLines own{address<std::uint8_t>(0), lines, first, count};
    multiply_piece(piece, own, own, inner, address<std::uint8_t>(part), verdict, address<GemmStep>(0), kGpu, Stages(piece, kGpu));
    operand.view.inner = whole.k;
    finish_pieces(whole, address<std::uint8_t>(0), pieces, 16 * residue_pitch(count) * count, operand, operand, result, listed,
                  verdict, Stages(whole, kGpu));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

int main() {
  for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
    for (const std::int32_t inner : {1, 17, 130, 1000, 70000, 300001}) {
      for (const std::int32_t first : {0, 1, 7, 64}) {
        for (const std::int32_t count : {1, 5, 300}) {
          for (const int bits : {53, 90}) {
            const std::string said = refusal(Alphabet::int8, Kernel::hopper, bits, accuracy, inner, first, count, 8) +
                                     refusal(Alphabet::fp4, Kernel::mma_copy, bits, accuracy, inner, first, count, 64);
            report(("pieces: " + said).c_str(), said.empty());
          }
        }
      }
    }
  }
  return finish();
}
