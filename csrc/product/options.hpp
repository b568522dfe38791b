// How a product is made: what was asked for by name, and what stays open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "arith/modes.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {
enum class Way : std::uint8_t;  // cpu/matmul.hpp
}

namespace ozfp4::product {

inline constexpr std::int64_t kDefaultWorkspace = std::int64_t(1) << 30;  // of the CPU

struct Options {
  Accuracy accuracy = Accuracy::standard;
  Rounding rounding = Rounding::nearest;
  Scheme scheme = Scheme::two;
  const Alphabet* alphabet = nullptr;  // null: the cheapest
  std::string family = "least";
  int bits = 0;         // of "scaled"; 0: those of the precision
  bool raises = false;  // where an entry of a product of integers does not fit
  std::int64_t workspace_limit = kDefaultWorkspace;
  bool has_limit = false;            // it was given; else a GPU takes more where not even the smallest blocks have room in it
  bool limits_copies = true;         // of a GPU's integers: operands of 64 bits and the product before a sum count, too
  std::shared_ptr<const Plan> plan;  // null: the one that all this leads to
  // Asked for by name, and not by default.
  bool has_accuracy = false, has_scheme = false, has_family = false;
  std::function<void(double)> progress;  // called with the fraction done; may throw to stop
  std::optional<Way> way;                // of a CPU's product, where tests force one
  bool has_stages = false;               // of a GPU's product: it is made by planes, of which a report is made
  std::int64_t* repaired = nullptr;      // of a GPU: a word that it writes, the number of repaired entries
  bool adds_repaired = false;            // to what is there
  std::int64_t* overflows = nullptr;     // likewise, of entries that do not fit
};

// The progress of all of `count` parts, as the one of this number has it.
inline std::function<void(double)> part_of_progress(const std::function<void(double)>& progress, std::int64_t number,
                                                    std::int64_t count) {
  if (!progress || count == 1) return progress;
  return [&progress, number, count](double fraction) {
    progress((static_cast<double>(number) + fraction) / static_cast<double>(count));
  };
}

// Nothing was asked for that only plans have, so that a small product may be made in machine words.
inline bool may_go_direct(const Options& options) {
  return options.plan == nullptr && options.scheme == Scheme::two && options.alphabet == nullptr && options.family == "least";
}

inline const char* name_of(Scheme scheme) { return scheme == Scheme::one ? "I" : "II"; }
inline const char* name_of(Accuracy accuracy) {
  return accuracy == Accuracy::scaled ? "scaled" : accuracy == Accuracy::correct ? "correct" : "standard";
}

}  // namespace ozfp4::product
