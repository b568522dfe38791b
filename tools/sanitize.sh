#!/usr/bin/env bash
# tools/sanitize.sh [address] [thread]: the CPU core under GCC's sanitizers; both where none is named. Any finding is a failure.
#   address: addresses and undefined behaviour, in CTest's programs and in tests/cpu, tests/arith and tests/api (PYTEST_ARGUMENTS:
#            further arguments of pytest, or other tests);
#   thread:  data races, in CTest's programs of the CPU core.
# Needs GCC with libasan, libubsan and libtsan, CMake, Ninja, and a Python ($PYTHON, else that of .venv) with pybind11 and what the
# tests need. Builds in build/sanitize.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-$PWD/.venv/bin/python}
export PATH=$(dirname "$PYTHON"):$PATH CXX=${CXX:-g++} PYTHONUNBUFFERED=1
cpus=$(nproc)

configure() { # folder, sanitizers, further arguments of cmake
  cmake -S . -B "$1" -G Ninja -DOZFP4_TESTING=ON -DOZFP4_CUDA=OFF -DOZFP4_CHECK_SECONDS=3000 "${@:3}" >"$1.log" \
    "-DCMAKE_CXX_FLAGS=-fsanitize=$2 -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
}

address() {
  local build=build/sanitize/address site=$PWD/build/sanitize/address/site
  configure "$build" address,undefined "-DPython_EXECUTABLE=$PYTHON" -Dpybind11_DIR="$("$PYTHON" -m pybind11 --cmakedir)"
  cmake --build "$build" --target _core _testing checks
  export UBSAN_OPTIONS=print_stacktrace=1
  # A child that is forked amid loops ends in a search for leaks that needs threads it does not have.
  ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$cpus" -E cpu/threading/pool
  ASAN_OPTIONS=detect_leaks=0 ctest --test-dir "$build" --output-on-failure --no-tests=error -R cpu/threading/pool
  rm -rf "$site"
  mkdir -p "$site"
  cp -r src/ozfp4 "$site"
  find "$site" -name '*.so' -delete
  cp "$build"/_core*.so "$build"/_testing*.so "$site/ozfp4"
  # Python itself is built without sanitizers: their libraries are loaded first, and that of exceptions, which they need at the
  # start. Memory that Python keeps until its end is no leak.
  local library preloaded=
  for library in asan ubsan stdc++; do preloaded+=" $("$CXX" -print-file-name="lib$library.so")"; done
  PYTHONPATH=$site OZFP4_CACHE_DIR=$site/cache LD_PRELOAD=$preloaded ASAN_OPTIONS=detect_leaks=0 OPENBLAS_NUM_THREADS=2 \
    "$PYTHON" -m pytest -q -m "not nightly" -p no:cacheprovider --numprocesses "$cpus" --dist worksteal \
    ${PYTEST_ARGUMENTS:-tests/cpu tests/arith tests/api}
}

thread() {
  local build=build/sanitize/thread alone=()
  configure "$build" thread -DOZFP4_PYTHON=OFF
  cmake --build "$build" --target checks
  if setarch -R true 2>/dev/null; then alone=(setarch -R); fi  # its shadow memory does not suit every random layout
  TSAN_OPTIONS=halt_on_error=1 "${alone[@]}" ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$cpus"
}

mkdir -p build/sanitize
(($#)) || set -- address thread
for each; do
  case $each in
    address | thread) ;;
    *)
      echo "tools/sanitize.sh: '$each' is neither address nor thread" >&2
      exit 2
      ;;
  esac
done
for each; do
  echo "==== $each"
  ("$each")
done
