#pragma once

#include <pybind11/pybind11.h>

namespace ozfp4::bindings {

void register_plan(pybind11::module_& module);
void register_stages(pybind11::module_& module);
void register_plain(pybind11::module_& module);
void register_product(pybind11::module_& module);
void register_partial(pybind11::module_& module);
void register_integers(pybind11::module_& module);
void register_runtime(pybind11::module_& module);
void register_left(pybind11::module_& module);
void register_trust(pybind11::module_& module);

}  // namespace ozfp4::bindings
