#include "product/cpu/units.hpp"

#include <string>

#include "cpu/limbs/unit.hpp"
#include "cpu/units.hpp"
#include "product/refusal.hpp"
#include "product/trust/cpu.hpp"

namespace ozfp4::product {
namespace {

using Kind = CpuKernel::Kind;

}  // namespace

const ByteKernel* trusted_unit() {
  const ByteKernel* kernel = nullptr;
  while ((kernel = serving_byte_kernel()) != nullptr) {
    if (verdict_of(planes_kernel(kernel, Alphabet::int8)).is_passed && verdict_of(planes_kernel(kernel, Alphabet::fp4)).is_passed)
      break;
    if (serving_byte_kernel() == kernel) {  // though it is disabled
      refuse(Fault::internal, std::string("OZFP4_CPU_KERNEL: '") + kernel->setting + "' failed its self-test on this CPU");
    }
  }
  return kernel;
}

std::vector<UnitRate> trusted_units() {
  const ByteKernel* kernel = trusted_unit();
  std::vector<UnitRate> found;
  for (const UnitRate& unit : cpu_units()) {
    if (verdict_of(planes_kernel(kernel, *unit.alphabet)).is_passed) found.push_back(unit);
  }
  if (found.empty()) refuse(Fault::internal, "backend: every kernel of this CPU failed its self-test");
  return found;
}

void check_trusted(const Alphabet& alphabet) {
  const ByteKernel* unit = trusted_unit();
  if (unit != nullptr && alphabet.entry != PlaneEntry::fp64) return;
  const Verdict& verdict = verdict_of(planes_kernel(unit, alphabet));
  if (!verdict.is_passed) {
    refuse(Fault::internal,
           "backend: every kernel of '" + std::string(alphabet.name) + "' failed its self-test on this CPU: " + verdict.reason);
  }
}

bool trusts_words() { return verdict_of({Kind::words}).is_passed; }

bool trusts_numbers() {
  if (serving_limb_unit() != nullptr) verdict_of({Kind::limbs});
  return verdict_of({Kind::numbers}).is_passed;
}

}  // namespace ozfp4::product
