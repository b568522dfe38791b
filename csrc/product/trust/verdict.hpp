// The result of a kernel's self-test, with all that is needed to see a failure again, and the results of other processes of this
// machine. These are small files in Environment::cache_folder, one for each key, so that processes never rewrite each other's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ozfp4::product {

// A kernel on its device: its name as in a report, and its entries. These are an alphabet of the CPU ("fp4", "int8", "fp64"),
// residues ("u8"), limbs ("s8") or codes ("e2m1") of a GPU. Products without planes: "none" on a GPU; on the CPU "integers" as
// they are, "words" and "limbs" of floating-point numbers.
struct KernelName {
  std::string name, element;
  bool operator==(const KernelName& other) const { return name == other.name && element == other.element; }
};

struct Verdict {
  bool is_passed = true, is_short = true;
  std::int64_t cases = 0;  // how many were tried; the last one is that which failed
  std::int64_t microseconds = 0;
  bool is_lasting = true;  // an error of the device may be a matter of the moment, a wrong number is not
  // The device's error, or the case with its plan and its modulus, and the first wrong entry as it was and as it is exactly. The
  // operands of a case are the same on any machine. Empty: all was right.
  std::string reason;
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
