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
  cmake -S . -B "$build" -G Ninja -DOZFP4_CUDA=ON -DOZFP4_WERROR=ON -DOZFP4_STAND_INS=ON -DOZFP4_TESTING=ON -Dpybind11_DIR="$(python3 -m pybind11 --cmakedir)" \
    -DPython_EXECUTABLE="$(command -v python3)" && cmake --build "$build" &&
    rm -rf "$site" && mkdir -p "$site" && cp -r src/ozfp4 "$site/" && find "$site" -name '*.so' -delete &&
    cp "$build"/_core*.so "$build"/_testing*.so "$build"/_cuda*.so "$site/ozfp4/"
} >"$out/build.txt" 2>&1 || { tail -40 "$out/build.txt"; exit 1; }
export PYTHONPATH=$PWD/$site OZFP4_CACHE_DIR=$PWD/$build/cache
nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader
python3 -c 'import torch, ozfp4; print(ozfp4.info())'

timeout 200 python3 -m pytest -q tests/cuda -W ignore::DeprecationWarning >"$out/tests.txt" 2>&1 || status=1
tail -15 "$out/tests.txt"

if [ "${OZFP4_SANITIZER:-1}" = 1 ] && command -v compute-sanitizer >/dev/null; then
  : >"$out/sanitizer.txt"
  sanitize() { # tool, program and arguments
    echo "== $*" | tee -a "$out/sanitizer.txt"
    timeout 150 compute-sanitizer --tool "$1" --error-exitcode 9 "${@:2}" >>"$out/sanitizer.txt" 2>&1 || status=1
    tail -2 "$out/sanitizer.txt"
  }
  sanitize memcheck python3 tests/cuda/small_cases.py --kernels
  sanitize synccheck python3 tests/cuda/small_cases.py --kernels
  sanitize initcheck python3 tests/cuda/small_cases.py --only "warp s8 cp.async" --every-modulus
  sanitize racecheck python3 tests/cuda/small_cases.py
  kernels=$(printf "csrc/multiply/%s.cu " warp_gemm warp_bytes_copy warp_bytes_bulk warp_stand_in_copy warp_stand_in_bulk sm90_gemm)
  mkdir -p "$build/checks"
  for source in tests/cuda/gemm_check.cu $kernels; do
    nvcc -std=c++17 -O3 -DNDEBUG -DOZFP4_RACECHECK -DOZFP4_NO_WARP_FP4 -gencode arch=compute_90a,code=sm_90a -I csrc -c "$source" \
      -o "$build/checks/$(basename "$source").o" &
  done
  wait
  nvcc -std=c++17 -O2 -DOZFP4_NO_WARP_FP4 -gencode arch=compute_90a,code=sm_90a -I csrc "$build"/checks/*.o \
    csrc/multiply/{gemm_problem,gemm_dispatch,warp_tile_choice}.cpp -o "$build/gemm_check" &&
    sanitize racecheck "$build/gemm_check" few || status=1
fi

if [ "${OZFP4_BENCHMARK:-1}" = 1 ]; then
  python3 benchmarks/gpu.py --out "$out/gpu.json" ${1:+--sizes "$@"} >"$out/gpu.md" 2>"$out/gpu.log" || { status=1; tail -5 "$out/gpu.log"; }
  cat "$out/gpu.md"
fi
exit $status
