#!/usr/bin/env bash
# Builds, tests and measures on a machine with an NVIDIA GPU, CUDA 13 and torch, without a network.
#   benchmarks/device.sh [OUTPUT_FOLDER] [benchmark sizes...]
# Writes build.txt, tests.txt, sanitizer.txt, gpu.json and gpu.md to the output folder. Needs pybind11, cmake, ninja, pytest.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/device}")
shift || true
mkdir -p "$out"
export PYTHONUNBUFFERED=1
status=0

build=build/device-build
site=build/device-site
{
  cmake -S . -B "$build" -G Ninja -DOZFP4_CUDA=ON -DOZFP4_WERROR=ON -DOZFP4_STAND_INS=ON -Dpybind11_DIR="$(python3 -m pybind11 --cmakedir)" \
    -DPython_EXECUTABLE="$(command -v python3)" && cmake --build "$build" &&
    rm -rf "$site" && mkdir -p "$site" && cp -r src/ozfp4 "$site/" && find "$site" -name '*.so' -delete &&
    cp "$build"/_core*.so "$build"/_cuda*.so "$site/ozfp4/"
} >"$out/build.txt" 2>&1 || { tail -40 "$out/build.txt"; exit 1; }
export PYTHONPATH=$PWD/$site
nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader
python3 -c 'import torch, ozfp4; print(ozfp4.info())'

timeout 120 python3 -m pytest -q tests/cuda -W ignore::DeprecationWarning >"$out/tests.txt" 2>&1 || status=1
tail -15 "$out/tests.txt"

if [ "${OZFP4_SANITIZER:-1}" = 1 ] && command -v compute-sanitizer >/dev/null; then
  : >"$out/sanitizer.txt"
  for tool in memcheck racecheck initcheck synccheck; do
    echo "== $tool" >>"$out/sanitizer.txt"
    timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 9 python3 tests/cuda/small_cases.py >>"$out/sanitizer.txt" 2>&1 || status=1
    tail -1 "$out/sanitizer.txt"
  done
fi

if [ "${OZFP4_BENCHMARK:-1}" = 1 ]; then
  python3 benchmarks/gpu.py --out "$out/gpu.json" ${1:+--sizes "$@"} >"$out/gpu.md" 2>"$out/gpu.log" || { status=1; tail -5 "$out/gpu.log"; }
  cat "$out/gpu.md"
fi
exit $status
