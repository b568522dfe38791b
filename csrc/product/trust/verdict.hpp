// The result of a kernel's self-test, with all that is needed to see a failure again, and what other processes of this machine
// found: small files in Environment::cache_folder, one for each key, so that processes never rewrite each other's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ozfp4::product {

// A kernel on its device: its name as in a report, and what it multiplies: an alphabet of the CPU ("fp4", "int8", "fp64"),
// residues ("u8"), limbs ("s8") or codes ("e2m1") of a GPU; without planes "words", and on the CPU "numbers" and "limbs" of
// floating point.
struct KernelName {
  std::string name, element;
  bool operator==(const KernelName& other) const { return name == other.name && element == other.element; }
};

// The first wrong case.
struct Failure {
  std::string name;  // of the case, whose operands are the same on any machine; empty: nothing failed
  std::int64_t m = 0, n = 0, k = 0;
  std::string plan;                    // of a whole product: scheme, alphabet, family, bits
  std::int64_t modulus = 0;            // of the residues that were wrong; 0: of sums and whole products
  std::int64_t row = -1, column = -1;  // of the first wrong entry; -1: the kernel did not come to an end
  std::string found, expected;         // that entry as it was, and as it is exactly
  std::string text;                    // what was wrong, in a sentence
};

struct Verdict {
  bool is_passed = true, is_short = true;
  std::int64_t cases = 0;  // how many were tried; the last one is that which failed
  std::int64_t microseconds = 0;
  std::string reason;      // the case and the first wrong entry, or what the device said; empty: all was right
  bool is_lasting = true;  // an error of the device may be a matter of the moment, a wrong number is not
  Failure failure;         // where one is known to have failed
};

// All that a finding depends on, by names.
using Facts = std::vector<std::pair<std::string, std::string>>;

// The verdict that store_verdict wrote under this key; nothing where none is whole. Neither throws anything but std::bad_alloc: a
// folder that cannot be read or written, or a damaged file, means that nothing is remembered.
std::optional<Verdict> load_verdict(const Facts& key);
void store_verdict(const Facts& key, const Verdict& verdict);

// All of a verdict in lines of "name: value", and the verdict of such a text; nothing of another.
std::string text_of(const Verdict& verdict);
std::optional<Verdict> verdict_of_text(const std::string& text);

}  // namespace ozfp4::product
