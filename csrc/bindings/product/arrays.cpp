#include "bindings/product/arrays.hpp"

#include <complex>
#include <string>

namespace ozfp4::bindings {

namespace py = pybind11;
using namespace product;

std::optional<EntryType> own_type(const py::array& x) {
  static PyObject* const known[] = {py::dtype::of<double>().release().ptr(), py::dtype::of<float>().release().ptr(),
                                    py::dtype::of<std::complex<double>>().release().ptr(),
                                    py::dtype::of<std::complex<float>>().release().ptr()};
  constexpr EntryType types[] = {kD, kS, kZ, kC};
  for (int i = 0; i < 4; ++i) {
    if (py::detail::array_proxy(x.ptr())->descr == known[i]) return types[i];
  }
  return std::nullopt;
}

EntryType type_of(const char* name, const py::array& x) {
  if (const std::optional<EntryType> found = own_type(x)) return *found;
  for (const EntryType& type : {kD, kS, kZ, kC}) {
    if (x.dtype().equal(dtype_of(type))) return type;
  }
  throw py::type_error(std::string(name) + ": dtype " + std::string(py::str(x.dtype())) + " is no floating-point one");
}

std::optional<py::array> transposed(const py::array& x, bool conjugates) {
  if (conjugates && x.dtype().kind() == 'c') return std::nullopt;
  return py::array(x.attr("swapaxes")(-1, -2));
}

py::dtype dtype_of(const EntryType& type) {
  if (type.is_complex) {
    return type.part == ElementType::float64 ? py::dtype::of<std::complex<double>>() : py::dtype::of<std::complex<float>>();
  }
  return type.part == ElementType::float64 ? py::dtype::of<double>() : py::dtype::of<float>();
}

}  // namespace ozfp4::bindings
