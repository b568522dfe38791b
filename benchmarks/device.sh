#!/usr/bin/env bash
# Builds, tests and measures on a machine with an NVIDIA GPU, CUDA 13 and torch, without a network.
#   benchmarks/device.sh [OUTPUT_FOLDER] [benchmark sizes...]
# Writes to the output folder:
#   build.txt
#   checks.txt              the stand-alone checks, those of the C interface among them
#   tests.txt
#   tests_programs.txt      the C interface and `ozfp4 exec`
#   tests_ranks.txt         with several GPUs: tests of ranks
#   build_ptx.txt, tests_ptx.txt    checks and tests of a build with PTX of compute capability 8.0 alone
#   sanitizer.txt, bench.json, bench.txt
# Needs pybind11, cmake, ninja, pytest.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/device}")
shift || true
mkdir -p "$out"
export PYTHONUNBUFFERED=1
status=0
pytest=(python3 -m pytest -q -m "not nightly")

configure() { # build folder, further arguments of cmake
  cmake -S . -B "$1" -G Ninja -DOZFP4_CUDA=ON -DOZFP4_WERROR=ON -DOZFP4_STAND_INS=ON -DOZFP4_TESTING=ON \
    -Dpybind11_DIR="$(python3 -m pybind11 --cmakedir)" -DPython_EXECUTABLE="$(command -v python3)" "${@:2}"
}

install() { # build folder, folder for the package, log, further arguments of cmake
  {
    configure "$1" "${@:4}" && cmake --build "$1" && rm -rf "$2" && mkdir -p "$2" && cp -r src/ozfp4 "$2/" &&
      find "$2" -name '*.so' -delete && cp "$1"/_core*.so "$1"/_testing*.so "$1"/_cuda*.so "$1"/libozfp4_*.so "$1"/ozfp4_selftest "$2/ozfp4/"
  } >"$3" 2>&1 || { tail -40 "$3"; exit 1; }
}
build=build/device-build
install "$build" build/device-site "$out/build.txt" -DOZFP4_LIBRARY=ON
export PYTHONPATH=$PWD/build/device-site OZFP4_CACHE_DIR=$PWD/$build/cache
nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader
python3 -c 'import torch, ozfp4; print(ozfp4.info())'

timeout 300 ctest --test-dir "$build" --output-on-failure --no-tests=error -j 8 >"$out/checks.txt" 2>&1 || status=1
tail -25 "$out/checks.txt"
timeout 200 "${pytest[@]}" tests/cuda -W ignore::DeprecationWarning >"$out/tests.txt" 2>&1 || status=1
tail -15 "$out/tests.txt"
OZFP4_LIBRARY_BUILD=$PWD/$build timeout 300 "${pytest[@]}" tests/c_api/test_cuda.py tests/exec/test_on_gpu.py \
  tests/exec/test_library.py tests/exec/test_cublas.py -W ignore::DeprecationWarning >"$out/tests_programs.txt" 2>&1 || status=1
tail -15 "$out/tests_programs.txt"

if [ "$(python3 -c 'import torch; print(torch.cuda.device_count())')" -gt 1 ]; then # products of several ranks, by NCCL
  timeout 900 "${pytest[@]}" -rs -W ignore::DeprecationWarning tests/distributed -k cuda >"$out/tests_ranks.txt" 2>&1 || status=1
  tail -15 "$out/tests_ranks.txt"
fi

if [ "${OZFP4_PTX:-1}" = 1 ]; then
  install "$build-ptx" build/device-site-ptx "$out/build_ptx.txt" -DCMAKE_CUDA_ARCHITECTURES=80-virtual
  # The driver compiles every kernel on its first use, which takes longer than the tests.
  PYTHONPATH=$PWD/build/device-site-ptx OZFP4_CACHE_DIR=$PWD/$build-ptx/cache CUDA_CACHE_PATH=$PWD/$build-ptx/driver \
    timeout 500 "${pytest[@]}" tests/cuda -W ignore::DeprecationWarning >"$out/tests_ptx.txt" 2>&1 || status=1
  tail -15 "$out/tests_ptx.txt"
fi

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
  # The same kernels with barriers that racecheck follows.
  { configure "$build-racecheck" -DOZFP4_RACECHECK=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real &&
    cmake --build "$build-racecheck" --target cuda_multiply_gemm_check; } >"$out/build_racecheck.txt" 2>&1 &&
    sanitize racecheck "$build-racecheck/cuda_multiply_gemm_check" gpu few || status=1
fi

if [ "${OZFP4_BENCHMARK:-1}" = 1 ]; then
  python3 benchmarks/speed.py --device cuda -o "$out" --no-figures ${1:+--sizes "$@"} >"$out/bench.txt" 2>&1 || status=1
  cat "$out/bench.txt"
fi
exit $status
