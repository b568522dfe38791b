#include "exec/real_routine.hpp"

#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/process.hpp"
#include "exec/settings.hpp"

namespace ozfp4::exec {
namespace {

// Nulls where no library holds the address.
Dl_info holder_of(const void* address) {
  Dl_info info{};
  return address && dladdr(address, &info) ? info : Dl_info{};
}

bool is_ours(const void* address) {
  return holder_of(address).dli_fbase == holder_of(reinterpret_cast<const void*>(&real_routine)).dli_fbase;
}

// The library that holds an address, kept loaded; null for the program itself, as its handle would find this library.
void* library_of(const void* address) {
  const char* file = holder_of(address).dli_fname;
  return file && *file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

// Whether an address is that of a foreign routine: not one of this library, nor of libblastrampoline, which may lead back here.
bool is_real(const void* address) {
  if (!address || is_ours(address)) return false;
  void* library = library_of(address);
  const void* forwards = library ? dlsym(library, "lbt_forward") : nullptr;
  if (library) dlclose(library);
  return !forwards || holder_of(forwards).dli_fbase != holder_of(address).dli_fbase;
}

// The address of `symbol` in a library, or in what it depends on; null where none there is real.
void* symbol_of(void* library, const std::string& symbol) {
  void* address = library ? dlsym(library, symbol.c_str()) : nullptr;
  return is_real(address) ? address : nullptr;
}

template <class Function>
void find_symbol(void* library, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(symbol_of(library, symbol));
}

// The address of `symbol` in any library that is loaded, which stays loaded then; null where none but our own has it.
void* symbol_of_any(const char* symbol) {
  std::vector<std::string> names;
  const auto add_name = [](dl_phdr_info* info, std::size_t, void* to) {
    if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<std::string>*>(to)->push_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add_name, &names);
  for (const std::string& name : names) {
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (void* address = symbol_of(library, symbol)) return address;
    if (library) dlclose(library);  // there is none of the kernel's vdso
  }
  return nullptr;
}

// As the dynamic linker would find it.
void* address_of(const char* symbol, const void* caller) {
  void* address = dlsym(RTLD_NEXT, symbol);
  if (is_real(address)) return address;
  void* library = library_of(caller);
  address = symbol_of(library, symbol);
  if (library) dlclose(library);
  return address ? address : symbol_of_any(symbol);
}

// Whether a library has 64-bit integers under names that do not say so, as Debian's libblas64.so, Fedora's libopenblas64.so, and
// MKL by its interface layer. Its isamax_ gets three numbers and a count that has the lower half 3 and is negative as a whole: it
// finds the second one, the largest, or none. A library without isamax_ is taken to have 32 bits.
bool has_64_bit_integers(void* library, Routine routine) {
  const std::string name = name_of(routine);
  if (is_on_device(routine) || name.find("64") != std::string::npos) return false;
  std::int64_t (*isamax)(const std::int64_t*, const float*, const std::int64_t*);
  find_symbol(library, name.compare(0, 6, "scipy_") == 0 ? "scipy_isamax_" : "isamax_", &isamax);
  const std::int64_t count = static_cast<std::int64_t>(0xffffffff00000003), step = 1;
  const float numbers[3] = {1, 2, 1};
  const Bypass bypass;
  return isamax && static_cast<std::int32_t>(isamax(&count, numbers, &step)) == 0;  // of 32 bits no more is defined
}

// A pattern may be of the routine, by either name, or of the name of the file that calls it, or of the one that has it.
bool is_spared(Routine routine, const void* caller, const void* address) {
  const auto file_of = [](const void* of) {
    const Dl_info info = holder_of(of);
    const std::string path = info.dli_fname ? info.dli_fname : "";
    return path.substr(path.rfind('/') + 1);
  };
  const std::string names[] = {plain_name(routine), name_of(routine), file_of(caller), file_of(address)};
  const auto has = [&names](const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      for (const std::string& name : names) {
        if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
      }
    }
    return false;
  };
  const Settings& asked = settings();
  return (!asked.only.empty() && !has(asked.only)) || has(asked.spare);
}

std::unique_ptr<Real> find(Routine routine, const void* caller) {
  auto real = std::make_unique<Real>();
  real->routine = routine;
  real->address = address_of(name_of(routine), caller);
  void* library = library_of(real->address);
  real->is_64_bit = has_64_bit_integers(library, routine);
  real->is_spared = is_spared(routine, caller, real->address);
  if (!is_on_device(routine)) return real;
  if (!real->address) {
    say(std::string("symbol lookup error: no loaded library has ") + name_of(routine) +
        " but libozfp4_blas, which stands before it");
    _exit(127);
  }
  find_symbol(library, "cublasGetStream_v2", &real->cublas.get_stream);
  find_symbol(library, "cublasGetPointerMode_v2", &real->cublas.get_pointer_mode);
  find_symbol(library, "cublasGetVersion_v2", &real->cublas.get_version);
  return real;
}

// Nodes live as long as the process, one for each place that calls; places that belong to no library, compiled at run time,
// share.
const Real& find_or_remember(Routine routine, const void* caller) {
  static auto& known = *new std::map<std::pair<Routine, const void*>, std::unique_ptr<const Real>>;
  const void* place = holder_of(caller).dli_fbase ? caller : nullptr;
  {
    const Guard hold(table_lock);
    const auto there = known.find({routine, place});
    if (there != known.end()) return *there->second;
  }
  const int kept = errno;
  std::unique_ptr<Real> found = find(routine, caller);
  errno = kept;
  found->caller = place;
  const Guard hold(table_lock);
  return *known.try_emplace({routine, place}, std::move(found)).first->second;
}

}  // namespace

const Real& real_routine(Routine routine, const void* caller) {
  static std::array<std::atomic<const Real*>, 1024> recent;
  const auto bits = reinterpret_cast<std::uintptr_t>(caller);
  auto& slot = recent[(bits ^ (bits >> 10) ^ static_cast<std::uintptr_t>(routine) * 37) % recent.size()];
  const Real* real = slot.load(std::memory_order_acquire);
  if (real && real->caller == caller && real->routine == routine) return *real;
  const Real& found = find_or_remember(routine, caller);
  if (found.caller) slot.store(&found, std::memory_order_release);
  return found;
}

}  // namespace ozfp4::exec
