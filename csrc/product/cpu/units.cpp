#include "product/cpu/units.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "cpu/limbs/unit.hpp"
#include "product/refusal.hpp"
#include "product/trust/cpu.hpp"

namespace ozfp4::product {
namespace {

using Kind = CpuKernel::Kind;

std::string text_of(const CpuKernel& kernel) {
  const KernelName name = kernel.name();
  return "'" + name.name + "' (" + name.element + ") on cpu";
}

}  // namespace

const ByteKernel* trusted_unit() {
  const ByteKernel* kernel = nullptr;
  while ((kernel = serving_byte_kernel()) != nullptr) {
    const Alphabet* failed = nullptr;
    for (const Alphabet* alphabet : {&Alphabet::int8, &Alphabet::fp4}) {
      if (failed == nullptr && !verdict_of(planes_kernel(kernel, *alphabet)).is_passed) failed = alphabet;
    }
    if (failed == nullptr) break;
    if (serving_byte_kernel() == kernel) refuse(Fault::internal, failure_of(*failed));  // it is asked for by name
  }
  return kernel;
}

std::string failure_of(const Alphabet& alphabet) {
  const CpuKernel serving = planes_kernel(serving_byte_kernel(), alphabet);
  if (verdict_of(serving).is_passed) return "";
  std::string text;
  for (const CpuKernel& kernel : cpu_kernels()) {
    const auto verdict = kernel.alphabet == serving.alphabet ? known_verdict(kernel) : std::nullopt;
    if (!verdict || verdict->is_passed) continue;
    text += (text.empty() ? "" : "; ") + text_of(kernel) + ": " + verdict->reason;
  }
  return "backend: every kernel of '" + std::string(alphabet.name) + "' failed its self-test: " + text;
}

void check_trusted(const Alphabet& alphabet) {
  const auto is_named = [&](const Alphabet* own) { return std::string(own->name) == alphabet.name; };
  if (std::none_of(alphabets().begin(), alphabets().end(), is_named)) {
    refuse_option(Fault::no_device, "backend", "'" + std::string(alphabet.name) + "' has no kernel; it has plans alone");
  }
  const ByteKernel* unit = trusted_unit();
  if (unit != nullptr && alphabet.entry != PlaneEntry::fp64) return;
  if (!verdict_of(planes_kernel(unit, alphabet)).is_passed) refuse(Fault::internal, failure_of(alphabet));
}

bool trusts_direct() { return verdict_of({Kind::integers}).is_passed; }

std::string failure_of_direct() {
  const CpuKernel direct{Kind::integers};
  const Verdict& verdict = verdict_of(direct);
  return verdict.is_passed ? "" : text_of(direct) + " failed its self-test: " + verdict.reason;
}

bool trusts_words() {
  if (serving_limb_unit() != nullptr) verdict_of({Kind::limbs});
  return verdict_of({Kind::words}).is_passed;
}

}  // namespace ozfp4::product
