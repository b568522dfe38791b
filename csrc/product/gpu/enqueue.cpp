#include "product/gpu/enqueue.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "cuda/multiply/schedule.hpp"
#include "plan/workspace_error.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/gram.hpp"
#include "product/gpu/integers.hpp"
#include "product/gpu/memory.hpp"
#include "product/gpu/operand.hpp"
#include "product/gpu/sum.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

// ---- Checks ----

std::int64_t width_of(const EntryType& type) { return type.is_complex ? 2 : 1; }

void check_extent(const char* name, std::int64_t extent, bool is_complex = false) {
  if (extent * (is_complex ? 2 : 1) <= kLongestExtent) return;
  refuse(Fault::unsupported, std::string(name) + ": " + std::to_string(extent) + " exceeds " + std::to_string(kLongestExtent) +
                                 ", the largest extent of a product on a GPU" +
                                 (is_complex ? ", where a complex number is two" : ""));
}

// Rows, columns and the inner dimension of a row-major product, by the names that they were passed by.
void check_extents(std::int64_t rows, std::int64_t columns, std::int64_t inner, bool is_exchanged, bool is_complex) {
  check_extent("m", is_exchanged ? columns : rows, is_complex);
  check_extent("n", is_exchanged ? rows : columns, is_complex);
  check_extent("k", inner, is_complex);
}

void check_aligned(const char* name, const void* data, std::int64_t bytes, bool is_option = false) {
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0) return;
  throw Refusal(Fault::argument, std::string(name) + ": its address is not a multiple of " + std::to_string(bytes), is_option);
}

void check_option_aligned(const char* name, const void* word) { check_aligned(name, word, 8, true); }

// The operands of a row-major product, by the names that they were passed by.
void check_operands(const char* left, std::int64_t left_bytes, const char* right, std::int64_t right_bytes, bool is_exchanged) {
  check_aligned(is_exchanged ? "b" : "a", left, left_bytes);
  check_aligned(is_exchanged ? "a" : "b", right, right_bytes);
}

// ---- The place ----

// Before it is known how much is taken; null is a place of 0 bytes. `name`: by which the memory was passed, and with _bytes its
// size.
void check_place(const DevicePlace& place, const std::string& name, bool is_used) {
  if (place.bytes < 0) refuse(name + "_bytes: " + std::to_string(place.bytes) + " is negative");
  if (!is_used) return;
  if (place.memory == nullptr && place.bytes > 0) refuse(name + ": is NULL");
  check_aligned(name.c_str(), place.memory, kPlaceAlignment);
}

// Whether the call is to go on in so much memory; else the size alone was wanted, which it writes.
bool goes_on(const DevicePlace& place, const std::string& name, std::int64_t needed) {
  if (place.needed != nullptr) {
    *place.needed = needed;
    return false;
  }
  if (place.bytes >= needed) return true;
  refuse(Fault::workspace, name + "_bytes: " + std::to_string(place.bytes) + " are fewer than " + std::to_string(needed) +
                               ", which this call takes");
}

cudaStream_t stream_of(const DevicePlace& place) {
  return place.needed != nullptr ? no_stream() : static_cast<cudaStream_t>(place.stream);
}

char* memory_of(const DevicePlace& place) { return static_cast<char*>(place.memory); }

std::int64_t bytes_of(const DeviceBlocks& blocks) { return blocks.bytes; }
std::int64_t bytes_of(const GramProblem& problem) { return problem.bytes; }
std::int64_t bytes_of(const DeviceProblem& problem) { return problem.places.bytes; }

Launching launching_at(const DevicePlace& place) {
  Launching how(stream_of(place));
  how.events = {static_cast<cudaEvent_t>(place.events[0]), static_cast<cudaEvent_t>(place.events[1]),
                static_cast<cudaEvent_t>(place.events[2])};
  how.waits_for_stages = place.waits_for_stages;
  how.found = place.found;
  how.ways = place.ways;
  return how;
}

// The problem and memory for it, or what stands in for them where the device has too little. Precondition: place.allocate.
template <class Problem, class Find>
std::pair<Problem, char*> with_memory(const Options& options, const DevicePlace& place, const Problem& asked, const Find& find) {
  const auto allocated = [&](const Problem& problem, bool is_last) {
    return static_cast<char*>(place.allocate(bytes_of(*problem), is_last));
  };
  if (bytes_of(*asked) == 0) return {asked, nullptr};
  if (char* const memory = allocated(asked, false)) return {asked, memory};
  Options own = options;
  own.has_limit = own.limits_copies = true;
  try {
    // A graph that is captured keeps what it is given: nothing is tried.
    for (Problem problem = asked; !is_captured(stream_of(place));) {
      own.workspace_limit = bytes_of(*problem) / 2;
      problem = find(own);
      if (bytes_of(*problem) == 0) return {problem, nullptr};
      if (char* const memory = allocated(problem, false)) return {problem, memory};
    }
  } catch (const WorkspaceError&) {  // the smallest blocks have no room
  } catch (const Refusal& refusal) {
    if (refusal.fault() != Fault::workspace) throw;
  }
  if (char* const memory = allocated(asked, true)) return {asked, memory};
  refuse(Fault::out_of_memory, "workspace: the device has no memory for " + std::to_string(bytes_of(*asked)) + " bytes");
}

// Launches what find(options) finds for the product.
template <class Own, class Find>
void run(const Own& product, const Options& options, const DevicePlace& place, const Find& find) {
  const Device device = current_device();
  const auto problem = find(limited(options, device));
  if (!place.allocate) {
    if (!goes_on(place, "workspace", bytes_of(*problem))) return;
    return launch(*problem, product, options, memory_of(place), launching_at(place));
  }
  const std::shared_ptr<StreamMemory> shared = stream_memory(device.index, stream_of(place));
  const bool is_small = shared != nullptr && bytes_of(*problem) <= kSharedWorkspace;
  const auto& [own, memory] =
      is_small ? std::make_pair(problem, shared->workspace.get()) : with_memory(options, place, problem, find);
  Launching how = launching_at(place);
  if (shared == nullptr) return launch(*own, product, options, memory, how);
  const std::lock_guard<std::mutex> alone(shared->launching);
  if (!shared->is_forgotten) how.counters = shared->counters.get();  // another thread's launch may have failed meanwhile
  try {
    launch(*own, product, options, memory, how);
  } catch (...) {
    forget(shared);
    throw;
  }
}

// Turns errors of the runtime and of launches into errors of the device.
template <class Body>
void on_device(const Body& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    refuse(Fault::device_error, error.what());
  }
}

// The checks of numbers behind those of extents and operands.
void check_rest(const Product& product, const Options& options, const DevicePlace& place) {
  check_aligned("c", product.c.data, product.type.bytes());
  check_option_aligned("bound", product.bound.data);
  check_option_aligned("repaired", options.repaired);
  check_place(place, "workspace", product.is_there());
}

// A product without entries: none of them is repaired.
void enqueue_nothing(const Options& options, const DevicePlace& place) {
  if (!goes_on(place, "workspace", 0) || options.repaired == nullptr || options.adds_repaired) return;
  on_device([&] {
    current_device();
    store_no_repairs(options, stream_of(place));
  });
}

// ---- Prepared operands ----

void check_sides(const PreparedSides& sides, bool is_exchanged) {
  if (sides.any() == nullptr) return;
  const Device device = current_device();
  const DevicePrepared *a = is_exchanged ? sides.right : sides.left, *b = is_exchanged ? sides.left : sides.right;
  for (const auto& [name, made] : {std::make_pair("prepared_a", a), std::make_pair("prepared_b", b)}) {
    if (made == nullptr || made->device == device.index) continue;
    refuse(std::string(name) + ": it lies on device " + std::to_string(made->device) + ", the current one is " +
           std::to_string(device.index));
  }
  if (a != nullptr && b != nullptr && a->kernel != b->kernel) {
    refuse("prepared_b: its planes are of " + std::string(cuda::kernel_name(b->kernel)) + ", those of prepared_a of " +
           cuda::kernel_name(a->kernel) + "; prepare both anew");
  }
}

}  // namespace

bool has_device_code() { return true; }

void enqueue(const Product& product, const Options& options, const DevicePlace& place) {
  const EntryType& type = product.type;
  if (product.is_there()) check_extents(product.m, product.n, product.k, product.is_exchanged, type.is_complex);
  check_operands(product.a.data, product.type_a.bytes(), product.b.data, product.type_b.bytes(), product.is_exchanged);
  check_rest(product, options, place);
  if (!product.is_there()) return enqueue_nothing(options, place);
  const Product own = merged(product, kLongestExtent / width_of(type));
  on_device([&] {
    check_sides(sides_of(product), product.is_exchanged);
    run(own, options, place,
        [&](const Options& asked) { return std::make_shared<const DeviceBlocks>(find_blocks(own, asked, stream_of(place))); });
  });
}

void enqueue_gram(const Product& gram, const Options& options, const DevicePlace& place, std::int64_t least_columns) {
  if (gram.is_there()) {
    check_extent("n", gram.n, gram.type.is_complex);
    check_extent("k", gram.k, gram.type.is_complex);
  }
  check_aligned("a", gram.a.data, gram.type.bytes());
  check_rest(gram, options, place);
  if (!gram.is_there()) return enqueue_nothing(options, place);
  Product own = gram;
  own.axes = merged(gram.axes);
  on_device([&] {
    run(own, options, place, [&](const Options& asked) { return find_gram(own, asked, least_columns, stream_of(place)); });
  });
}

namespace {

void check_integers(const IntegerSum& sum, const Options& options, const DevicePlace& place) {
  const Product& p = sum.product;
  if (options.raises) {
    refuse_option(Fault::unsupported, "overflow",
                  "an error would wait for the device; options.overflows counts the entries that do not fit");
  }
  if (options.scheme != Scheme::two && options.plan == nullptr) {
    refuse_option(Fault::unsupported, "scheme", "'I' is not for integers on a GPU; allowed is 'II'");
  }
  if (p.m > 0 && p.n > 0) check_extents(p.m, p.n, p.k, p.is_exchanged, false);
  check_operands(p.a.data, p.type_a.bytes(), p.b.data, p.type_b.bytes(), p.is_exchanged);
  check_aligned("c", p.c.data, p.type.bytes());
  check_option_aligned("overflows", options.overflows);
  check_place(place, "workspace", sum.is_multiplied());
}

void enqueue_no_integers(const IntegerSum& sum, const Options& options, const DevicePlace& place) {
  if (!goes_on(place, "workspace", 0) || (!sum.product.is_there() && options.overflows == nullptr)) return;
  on_device([&] { launch_nothing(sum, options, stream_of(place)); });
}

}  // namespace

void enqueue_integers(const IntegerSum& sum, const Options& options, const DevicePlace& place) {
  check_integers(sum, options, place);
  if (!sum.is_multiplied()) return enqueue_no_integers(sum, options, place);
  const IntegerSum own = sum_of(sum, merged(sum.product, kLongestExtent));
  on_device([&] { run(own, options, place, [&](const Options& asked) { return find_problem(own, asked, stream_of(place)); }); });
}

void enqueue_gram(const IntegerSum& gram, const Options& options, const DevicePlace& place, std::int64_t least_columns) {
  check_integers(gram, options, place);
  if (!gram.is_multiplied()) return enqueue_no_integers(gram, options, place);
  IntegerSum own = gram;
  own.product.axes = merged(gram.product.axes);
  on_device([&] {
    run(own, options, place, [&](const Options& asked) { return find_gram(own, asked, least_columns, stream_of(place)); });
  });
}

std::shared_ptr<const Prepared> prepare_on_device(const ToPrepare& own, const Options& options, const DevicePlace& place) {
  const std::int64_t rows = own.is_row_major ? own.x.rows : own.x.columns;
  const std::int64_t columns = own.is_row_major ? own.x.columns : own.x.rows;
  if (own.is_there()) {
    check_extent("rows", rows, own.type.is_complex);
    check_extent("columns", columns, own.type.is_complex);
  }
  check_aligned("x", own.x.data, own.type.bytes());
  check_place(place, "memory", own.is_there());
  if (!own.is_there() && !goes_on(place, "memory", 0)) return nullptr;
  std::shared_ptr<DevicePrepared> made;
  on_device([&] {
    const Device device = current_device();
    const bool is_paired = own.type.is_complex && !own.is_for_real;
    const Chosen chosen =
        choose(options, own.precision, {std::max<std::int64_t>(own.inner, 1)}, is_paired, device, stream_of(place));
    const auto about = std::make_shared<DevicePrepared>();
    static_cast<Prepared&>(*about) = {own.type, own.is_left, own.is_row_major, rows, columns, chosen.plan, options.accuracy};
    about->device = device.index;
    about->kernel = chosen.kernel;
    if (own.is_there()) {
      const PreparedProblem problem = lay_out(own, options.accuracy, chosen.plan, chosen.kernel, device.gpu);
      char* memory = memory_of(place);
      if (place.allocate) {
        memory = static_cast<char*>(place.allocate(problem.places.bytes, true));
      } else if (!goes_on(place, "memory", problem.places.bytes)) {
        return;
      }
      ozfp4::product::place(*about, problem, own, memory);
      launch(problem, own, memory, launching_at(place));
    }
    made = about;
  });
  return made;
}

}  // namespace ozfp4::product
