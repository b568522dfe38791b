// Products of CUDA tensors of floating-point numbers by csrc/product, as bindings/product/product.cpp has those of arrays.
#include <cuda_runtime_api.h>
#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cuda/register.hpp"
#include "bindings/cuda/tensors.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/product/options.hpp"
#include "bindings/product/plain.hpp"
#include "bindings/product/shapes.hpp"
#include "bindings/tensors/python.hpp"
#include "cuda/runtime/device.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/enqueue.hpp"
#include "product/gpu/findings.hpp"
#include "product/gpu/operand.hpp"
#include "product/gpu/problem.hpp"
#include "product/gpu/settings.hpp"
#include "product/integers.hpp"
#include "product/trust/gpu.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using namespace product;
using cuda::DeviceGuard;

bool waits_for_stages = false;
std::vector<bool> ready;  // by device: the build has kernels for it

std::optional<std::vector<std::string>> noted_ways;  // of all products since note_ways; guarded by the interpreter's lock

// Where the thread's products write how many entries they repair, all together, and whether one of them was enqueued to.
struct RepairCount {
  std::int64_t* place = nullptr;
  bool is_written = false;
};
thread_local RepairCount repair_count;

// 0: nowhere. Returns whether a product was enqueued that writes to the place before.
bool count_repaired_at(std::uintptr_t address) {
  const bool is_written = repair_count.is_written;
  repair_count = {reinterpret_cast<std::int64_t*>(address), false};
  return is_written;
}

// Calls ozfp4._trust.guard.tell_failures where a kernel failed its self-test since it was last called.
void warn_of_failures() {
  static int last = 0;  // guarded by the interpreter's lock
  const int generation = device_generation();
  if (generation == last) return;
  last = generation;
  if (!failed_device_kernels().empty()) py::module_::import("ozfp4._trust.guard").attr("tell_failures")();
}

// Runs `body` with the device current and without the interpreter's lock, and again where a self-test found no memory: torch may
// hold what is not used.
template <class Body>
void run_on(int device, const Body& body) {
  const auto run = [&] {
    const Unlocked unlocked;
    const DeviceGuard guard(device);
    body();
  };
  try {
    run();
  } catch (const Refusal& refusal) {
    warn_of_failures();
    if (refusal.fault() == Fault::unsupported && refusal.is_of("stream")) throw std::runtime_error(refusal.what());
    if (refusal.fault() != Fault::out_of_memory) throw;
    py::module_::import("torch").attr("cuda").attr("empty_cache")();
    run();
  }
  warn_of_failures();
}

// Where a product of these tensors runs: on the current stream of their device, in memory that torch allocates.
class Place {
 public:
  Place(const Torch& torch, const py::object& tensor, int device)
      : torch_(torch), device_(device), where_(tensor.attr("device")) {
    place_.stream = reinterpret_cast<void*>(torch.stream_on(device));
    place_.waits_for_stages = waits_for_stages;
    place_.ways = noted_ways ? &ways_ : nullptr;
    place_.allocate = [this](std::int64_t bytes, bool is_last) -> void* {
      const Locked locked;
      const py::object made = torch_.empty_bytes(bytes, where_, is_last);
      if (!made) return nullptr;
      memory_ = made;
      return address_of(made);
    };
  }
  ~Place() {
    if (noted_ways) noted_ways->insert(noted_ways->end(), ways_.begin(), ways_.end());
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  DevicePlace& get() { return place_; }
  const py::object& device() const { return where_; }
  // None where none was allocated.
  const py::object& memory() const { return memory_; }
  int index() const { return device_; }
  std::uintptr_t stream() const { return reinterpret_cast<std::uintptr_t>(place_.stream); }

 private:
  const Torch& torch_;
  int device_;
  py::object where_, memory_ = py::none();
  std::vector<std::string> ways_;  // filled without the interpreter's lock
  DevicePlace place_;
};

// ---- Prepared operands ----

struct PreparedTensor {
  std::shared_ptr<const DevicePrepared> made;
  py::object memory, entries;  // tensors; entries: None where they were copied
  std::uintptr_t stream;       // on which it was enqueued
  std::int64_t inner;          // of the real products of it

  const Prepared* about() const { return made.get(); }
  const char* first_entry() const { return made->view.data; }
  // Lets its memory outlive what the current stream, another one, has enqueued.
  void follow(const Torch& torch, std::uintptr_t current) const {
    if (current == stream) return;
    if (!memory.is_none()) torch.record_stream(memory, made->device);
    if (!entries.is_none()) torch.record_stream(entries, made->device);
  }
};

using Tensors = Given<TensorView, PreparedTensor>;

TensorView view_of(const Torch& torch, const char* name, py::handle x) {
  std::optional<TensorView> view = torch.reader().read(x);
  if (!view) throw py::type_error(std::string(name) + ": a dense tensor on a CUDA device is needed");
  return *std::move(view);
}

// Calls enqueue(options, place).
template <class Enqueue>
void run(Options options, Place& place, const Enqueue& enqueue) {
  if (repair_count.place != nullptr) {
    options.repaired = repair_count.place;
    options.adds_repaired = repair_count.is_written;
    repair_count.is_written = true;
  }
  run_on(place.index(), [&] { enqueue(options, place.get()); });
}

// Plane products of as many moduli: of a plan that was lengthened, which is one of INT8, one each.
int products_made(const Plan& plan, int moduli_used) {
  if (!plan.has_moduli()) return plan.products();
  return moduli_used > plan.count() ? moduli_used : plan.products_of(moduli_used);
}

// `precision`, `k`: of the product that a plan is for, `complex_operands`: how many of the operands are complex.
py::dict describe(const DeviceFindings& found, const Options& options, int precision, std::int64_t k, int complex_operands,
                  int device) {
  py::dict outcome;
  std::string reason, fallback = found.fallback;
  std::shared_ptr<const Plan> plan = found.plan;
  run_on(device, [&] {
    const Device own = current_device();
    reason = reason_on(own, options, precision, k);
    if (plan == nullptr) {
      const Chosen chosen = choose(options, precision, {k}, complex_operands == 2, own, no_stream());
      plan = chosen.plan;
      fallback = chosen.fallback;
    }
  });
  outcome["plan"] = options.plan != nullptr ? py::object(py::none()) : py::object(plan_tuple(*plan, k));
  outcome["reason"] = reason;
  outcome["fallback"] = or_none(fallback);
  outcome["kernel"] = found.kernel.empty() ? "none" : found.kernel;
  outcome["workspace"] = found.workspace;
  outcome["moduli_used"] = found.moduli_used;
  outcome["products"] =
      products_made(*plan, found.moduli_used) * (plan->is_complex || complex_operands == 0 ? 1 : 2 * complex_operands);
  outcome["special_rows"] = found.special_rows;
  outcome["special_columns"] = found.special_columns;
  outcome["exponents"] = range_of(found.exponents);
  outcome["capacities"] = range_of(found.capacities);
  outcome["has_exponents"] = !found.exponents.empty();
  outcome["unshifted"] = py::make_tuple(found.has_unshifted_a, found.has_unshifted_b);
  outcome["repaired"] = found.listed - found.exact;
  outcome["repaired_exactly"] = found.exact;
  return outcome;
}

std::optional<TensorView> view_or_none(const Torch& torch, const char* name, const py::object& x) {
  return x.is_none() ? std::nullopt : std::optional<TensorView>(view_of(torch, name, x));
}

// Enqueues the product into `out`, and returns what happened where it is reported, for which the device is waited for. `events`:
// handles of three CUDA events, see DevicePlace.
py::dict multiply_tensors(const py::object& a, const py::object& b, const py::object& out, const py::tuple& asked,
                          std::complex<double> alpha, std::complex<double> beta, const py::object& addend,
                          const py::object& upper, const py::object& bound, const PreparedTensor* prepared_a,
                          const PreparedTensor* prepared_b, bool is_reported, const std::array<std::uintptr_t, 3>& events,
                          const GivenGram& gram) {
  const Torch& torch = Torch::get();
  Options options = options_of(asked);
  options.has_stages = is_reported;
  const Tensors given{view_of(torch, "a", a),
                      view_of(torch, "b", b),
                      view_of(torch, "out", out),
                      view_or_none(torch, "c", addend),
                      view_or_none(torch, "upper", upper),
                      view_or_none(torch, "bound", bound),
                      prepared_a,
                      prepared_b};
  const Product p = product_of(given, alpha, beta, gram);
  Place place(torch, out, given.out.device());
  for (std::size_t i = 0; i < events.size(); ++i) place.get().events[i] = reinterpret_cast<void*>(events[i]);
  for (const PreparedTensor* made : {prepared_a, prepared_b}) {
    if (made != nullptr) made->follow(torch, place.stream());
  }
  DeviceFindings found;
  if (is_reported) place.get().found = &found;
  run(options, place,
      [&](const Options& own, const DevicePlace& at) { gram ? enqueue_gram(p, own, at, gram->second) : enqueue(p, own, at); });
  if (!is_reported) return py::dict();
  const int complex_operands = (p.type_a.is_complex ? 1 : 0) + (p.type_b.is_complex ? 1 : 0);
  py::dict outcome = describe(found, options, p.type.precision(), planned_inner(p), complex_operands, place.index());
  if (gram) outcome["entries"] = found.entries;
  return outcome;
}

// ---- Integers ----

// alpha a b + beta addend, modulo 2^w of the dtype of `out`; for bool whether it is not 0. Where `modulus` is not 0, a b modulo
// that. Where `gram`, the columns of a block at least, C = X X^T, of X and its transpose in either order. `bits`: of a plan for
// the entries, which are of eight bits where the plan is one of INT8; 0: by their dtypes. `overflows`: a tensor of one int64 that
// gets the number of entries that the dtype of `out` does not hold, or None.
py::dict multiply_integers(const py::object& a, const py::object& b, const py::object& out, const py::tuple& asked, int bits,
                           const py::int_& alpha, const py::int_& beta, const py::object& addend, std::int64_t modulus,
                           const py::object& overflows, bool is_reported, std::optional<std::int64_t> gram) {
  const Torch& torch = Torch::get();
  const Tensors given{view_of(torch, "a", a), view_of(torch, "b", b), view_of(torch, "out", out),
                      view_or_none(torch, "c", addend)};
  IntegerSum sum = integers_of(given);
  sum.alpha = wrapped(alpha);
  sum.beta = wrapped(beta);
  sum.modulus = modulus;
  sum.entry_bits = bits;
  Options options = options_of(asked);
  options.has_stages = is_reported;
  options.raises = false;  // Python looks at `overflows`
  options.limits_copies = false;
  if (!overflows.is_none()) options.overflows = static_cast<std::int64_t*>(address_of(overflows));
  Place place(torch, out, given.out.device());
  DeviceFindings found;
  if (is_reported) place.get().found = &found;
  run_on(place.index(),
         [&] { gram ? enqueue_gram(sum, options, place.get(), *gram) : enqueue_integers(sum, options, place.get()); });
  if (!is_reported) return py::dict();
  if (options.plan == nullptr) options.bits = sum.bits();
  return describe(found, options, 53, std::max<std::int64_t>(sum.product.k, 1), 0, place.index());
}

// How such a product of real matrices is made, and microseconds by the models of "direct", "thin", "tiles" and "stages".
py::dict way_of_product(const py::object& a, const py::object& b, const py::object& out, const py::tuple& asked) {
  const Torch& torch = Torch::get();
  const Options options = options_of(asked);
  const Tensors given{view_of(torch, "a", a), view_of(torch, "b", b), view_of(torch, "out", out)};
  const Product p = product_of(given);
  std::optional<WayOfProduct> found;
  run_on(given.out.device(), [&] { found = way_of(p, options, no_stream()); });
  const cuda::CudaPlan& plan = *found->problem->plan;
  const cuda::CudaLayout& layout = found->problem->layout;
  py::dict way;
  way["way"] = way_name(layout);
  way["scales_and_encodes"] = layout.scales_and_encodes;
  way["kernel"] = kernel_name(plan.kernel);
  way["tile"] = tile_geometry(layout.tile.shape).name;
  way["element"] = element_name(plan.schedule.element);
  way["splits"] = layout.tile.splits;
  way["bytes"] = found->problem->places.bytes;
  const cuda::OfWays& times = found->microseconds;
  way["microseconds"] = py::make_tuple(times.direct, times.thin, times.tiles, times.stages);
  return way;
}

// ---- The short way ----

// The result, or NotImplemented.
py::object multiply_plain(PyObject* const* given, Py_ssize_t count) {
  const PlainArguments arguments = plain_arguments(given, count);
  if (!Torch::is_connected()) return not_plain();
  const Torch& torch = Torch::get();
  if (arguments.may_be_watched && !torch.reader().nothing_watches()) return not_plain();
  const auto read = [&](PyObject* x) { return torch.reader().read_plain(x); };
  return with_plain<TensorView>(arguments, read, [&](const PlainProduct<TensorView>& found) -> py::object {
    const int device = found.a.device();
    const auto is_apart = [&](const std::optional<TensorView>& x) { return x && x->device() != device; };
    if (found.b.device() != device || is_apart(found.c) || is_apart(found.out)) return not_plain();
    if (static_cast<std::size_t>(device) >= ready.size() || !ready[static_cast<std::size_t>(device)]) return not_plain();
    if (found.options.alphabet != nullptr && found.options.alphabet->entry == PlaneEntry::fp64) return not_plain();
    Place place(torch, py::reinterpret_borrow<py::object>(arguments.a), device);
    const auto made = found.out ? std::make_pair(py::reinterpret_borrow<py::object>(arguments.out), *found.out)
                                : torch.empty(found.shape, found.type, place.device());
    const Product p = found.into<PreparedTensor>(made.second);
    run(found.options, place, [&](const Options& own, const DevicePlace& at) { enqueue(p, own, at); });
    if (found.out) torch.mark_written(made.first);
    return made.first;
  });
}

// ---- What is chosen, and what is set ----

// The plan that a product would take, as arguments of make_plan (None: the one that was passed). Then the number of the kernel,
// the reason, and the reason why it is not that of the cheapest unit (None: it is). `shape`: as cuda::ProductShape has it.
py::tuple choose_on(const py::tuple& asked, const std::array<std::int64_t, 4>& shape, int precision, bool is_paired, int device) {
  const Options options = options_of(asked);
  const auto stream = reinterpret_cast<cudaStream_t>(Torch::get().stream_on(device));
  const std::int64_t k = std::max<std::int64_t>(shape[0], 1);
  std::optional<Chosen> chosen;
  std::string reason;
  run_on(device, [&] {
    const Device own = current_device();
    chosen = choose(options, precision, {k, shape[1], shape[2], shape[3]}, is_paired, own, stream);
    reason = reason_on(own, options, precision, k);
  });
  return py::make_tuple(options.plan != nullptr ? py::object(py::none()) : py::object(plan_tuple(*chosen->plan, k)),
                        static_cast<int>(chosen->kernel), reason, or_none(chosen->fallback));
}

// `stays`: the entries are not copied.
std::unique_ptr<PreparedTensor> prepare_tensor(const py::object& x, bool is_right, bool is_for_real, int precision, bool stays,
                                               const py::tuple& asked) {
  const Torch& torch = Torch::get();
  const Options options = options_of(asked);
  const TensorView view = view_of(torch, "x", x);
  ToPrepare own = to_prepare(view, type_of("x", view), is_right, is_for_real, precision);
  own.stays = stays;
  Place place(torch, x, view.device());
  std::shared_ptr<const Prepared> made;
  run_on(view.device(), [&] { made = prepare_on_device(own, options, place.get()); });
  return std::make_unique<PreparedTensor>(PreparedTensor{std::static_pointer_cast<const DevicePrepared>(made), place.memory(),
                                                         stays ? x : py::object(py::none()), place.stream(), own.inner});
}

// As _core.cheapest has it.
py::tuple cheapest_unit(const py::tuple& asked, int precision, std::int64_t inner, int device) {
  const Options options = options_of(asked);
  const std::int64_t k = std::max<std::int64_t>(inner, 1);
  const DeviceGuard guard(device);
  const Device own = current_device();
  return py::make_tuple(cheapest_on(own, options, precision, k).name, reason_on(own, options, precision, k));
}

void mark_ready(int device) {
  const auto at = static_cast<std::size_t>(device);
  if (ready.size() <= at) ready.resize(at + 1);
  ready[at] = true;
}

void force(std::optional<int> kernel, const std::optional<std::string>& tile, std::optional<int> splits,
           std::optional<bool> overlap, const std::optional<std::string>& direct) {
  DeviceForced forced{{}, tile, splits, overlap, {}};
  if (kernel) forced.kernel = kernel_of(*kernel);
  if (direct) {
    const std::map<std::string, cuda::WithoutPlanes> ways = {{"always", cuda::WithoutPlanes::direct},
                                                             {"thin", cuda::WithoutPlanes::thin},
                                                             {"tiles", cuda::WithoutPlanes::tiles},
                                                             {"never", cuda::WithoutPlanes::never}};
    const auto found = ways.find(*direct);
    if (found == ways.end()) throw py::value_error("direct: '" + *direct + "' is none of 'always', 'thin', 'tiles' and 'never'");
    forced.direct = found->second;
  }
  force_on_devices(forced);
}

}  // namespace

void register_product(py::module_& module) {
  module.def("connect", [](const py::kwargs& functions) {
    Torch::connect(functions);
    waits_for_stages = functions["waits_for_stages"].cast<bool>();
  });
  py::class_<PreparedTensor>(module, "Prepared")
      .def_property_readonly("nbytes",
                             [](const PreparedTensor& x) {
                               return x.memory.is_none() ? std::int64_t(0) : x.memory.attr("nbytes").cast<std::int64_t>();
                             })
      .def_property_readonly(
          "plan", [](const PreparedTensor& x) { return plan_tuple(*x.made->plan, std::max<std::int64_t>(x.inner, 1)); });
  module.def("prepare", &prepare_tensor);
  module.attr("multiply_plain") = builtin<multiply_plain>("multiply_plain");
  module.def("multiply_tensors", &multiply_tensors, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("asked"),
             py::arg("alpha") = 1.0, py::arg("beta") = 0.0, py::arg("addend") = py::none(), py::arg("upper") = py::none(),
             py::arg("bound") = py::none(), py::arg("prepared_a") = py::none(), py::arg("prepared_b") = py::none(),
             py::arg("is_reported") = false, py::arg("events") = std::array<std::uintptr_t, 3>{}, py::arg("gram") = py::none());
  module.def("multiply_integers", &multiply_integers, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("asked"),
             py::arg("bits"), py::arg("alpha") = 1, py::arg("beta") = 0, py::arg("addend") = py::none(), py::arg("modulus") = 0,
             py::arg("overflows") = py::none(), py::arg("is_reported") = false, py::arg("gram") = py::none());
  module.def("way_of", &way_of_product);
  module.def("choose", &choose_on);
  module.def("cheapest", &cheapest_unit);
  module.def("mark_ready", &mark_ready);
  module.def("read_environment", &read_device_rates);
  module.def("has_measured_ways", [](int device) { return device_rates(device).has_ways; });
  module.def("force", &force, py::arg("kernel") = py::none(), py::arg("tile") = py::none(), py::arg("splits") = py::none(),
             py::arg("overlap") = py::none(), py::arg("direct") = py::none());
  module.def("note_ways",
             [](bool notes) { noted_ways = notes ? std::optional<std::vector<std::string>>(std::in_place) : std::nullopt; });
  module.def("noted_ways", [] { return noted_ways.value_or(std::vector<std::string>()); });
  module.def("count_repaired_at", &count_repaired_at);
}

}  // namespace ozfp4::bindings
