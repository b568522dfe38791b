// The capacity of a full line by its depth and span against line_capacity of its facts: every depth that a step may begin at.
#include <string>

#include "check.hpp"
#include "cpu/words/lines/full_lines.hpp"

using namespace ozfp4;

int main() {
  FullLines full;
  for (const std::int64_t k : {1, 2, 3, 7, 64, 100, 511, 512, 513, 1024, 4095, 65536}) {
    for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
      for (const int precision : {24, 53}) {
        for (const bool is_update : {false, true}) {
          const ScaleRequest request{accuracy, 2 + accuracy_bits(Accuracy::correct, precision), precision, false, is_update};
          full.prepare(k, request);
          std::int64_t wrong = 0;
          const std::int64_t stride = k > 2000 ? k / 777 : 1;
          for (std::int64_t depth = 0; depth <= 6 * k + 2; depth += stride) {
            for (const int span :
                 {1, 2, 3, precision - 1, precision, precision + 1, precision + 2, precision + 4, precision + 5, precision + 9,
                  precision + 14, precision + 15, precision + 16, precision + 22, precision + 23, precision + 24, 150, 2098}) {
              const LineFacts facts{0, 1 - span, k, -depth};
              const int expected = line_capacity(accuracy, request.bits, facts, precision, is_update);
              wrong += full.capacity(depth, span) != expected;
            }
          }
          report("k " + std::to_string(k) + ", accuracy " + std::to_string(static_cast<int>(accuracy)) + ", precision " +
                     std::to_string(precision) + (is_update ? ", update" : ""),
                 wrong == 0, std::to_string(wrong) + " capacities differ");
        }
      }
    }
  }
  return finish();
}
