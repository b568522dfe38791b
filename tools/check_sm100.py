"""Compiles the tcgen05 kernels, for B200 and B300, and checks what comes out. Needs nvcc and CUTLASS's headers, no GPU.

    python tools/check_sm100.py [--cutlass FOLDER] [--nvcc nvcc] [--jobs 2] [--separate] [--output FOLDER]

Warnings are errors in our code. Every kernel must spill nothing, stay within the registers that its 256 threads have, and
multiply with the tensor-core instruction of its operands alone: no INT8 and no f8f6f4 instruction in a kernel of E2M1 codes.
Then the host part is compiled and run: the fold over its whole domain, and the cutting of schedules into passes. The
opcodes are those of CUDA 13.0. --separate compiles the kernel of E2M1 codes for sm_100a and sm_103a, too; sm_100f, which
is always compiled, serves both.
"""

import argparse
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = [
    ("sm100_fp4.cu", "100f", "UTCOMMA"),
    ("sm100_u8.cu", "100a", "UTCIMMA"),
    ("sm100_s8.cu", "100a", "UTCIMMA"),
]
SEPARATE = [("sm100_fp4.cu", "100a", "UTCOMMA"), ("sm100_fp4.cu", "103a", "UTCOMMA")]
MAX_REGISTERS = 65536 // 256
# Tensor-core instructions of warps; none belongs here.
WARP_OPCODES = {0x237: "IMMA", 0x23C: "HMMA", 0x27A: "QMMA", 0x47F: "OMMA", 0x9F1: "IGMMA"}


def find_cutlass() -> Path | None:
    spec = find_spec("cutlass_library")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "source" / "include"


def tensor_instruction(low: int, high: int) -> str | None:
    """The tensor-core instruction that the two words of an instruction stand for."""
    if low & 0x7FF != 0x5EA:
        return WARP_OPCODES.get(low & 0xFFF)
    kind = high >> 8 & 3
    if kind == 0:
        return "UTCOMMA" if low >> 62 else "UTCHMMA"
    return {1: "UTCIMMA", 3: "UTCQMMA"}.get(kind, "UTC*MMA")


def count_instructions(cubin: bytes) -> Counter[str]:
    table = struct.unpack_from("<Q", cubin, 0x28)[0]
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + 64 * i) for i in range(count)]
    found: Counter[str] = Counter()
    for header in headers:
        start = headers[names][4] + header[0]
        if not cubin.startswith(b".text.", start):
            continue
        for at in range(header[4], header[4] + header[5] - 15, 16):
            name = tensor_instruction(*struct.unpack_from("<QQ", cubin, at))
            if name is not None:
                found[name] += 1
    return found


def run(command: list[str]) -> tuple[str, float]:
    start = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-8000:]}{done.stderr[-8000:]}")
    return done.stdout + done.stderr, time.monotonic() - start


def check_kernel(
    nvcc: str, cutlass: Path, output: Path, source: str, target: str, expected: str
) -> tuple[str, list[str]]:
    cubin = output / f"{source}.{target}.cubin"
    log, seconds = run(
        [nvcc, "-std=c++17", "-O3", "-DNDEBUG", "-DCUTLASS_ENABLE_GDC_FOR_SM100=1", "--expt-relaxed-constexpr",
         f"-gencode=arch=compute_{target},code=sm_{target}", "-Icsrc", "-isystem", str(cutlass),
         "-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings", "-Xptxas=-v", "-cubin", "-o", str(cubin),
         f"csrc/multiply/{source}"]
    )  # fmt: skip
    faults = []
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", log)]
    spills = [int(n) for n in re.findall(r"(\d+) bytes (?:stack frame|spill)", log)]
    found = count_instructions(cubin.read_bytes())
    if len(registers) != 1:
        faults.append(f"{len(registers)} kernels, not 1")
    if any(spills):
        faults.append("registers spill")
    if max(registers, default=0) > MAX_REGISTERS:
        faults.append(f"{max(registers)} registers of {MAX_REGISTERS}")
    if set(found) != {expected}:
        faults.append(f"wrong tensor-core instructions: only {expected} belongs here")
    counts = (
        ", ".join(f"{count} {name}" for name, count in sorted(found.items())) or "no tensor-core instruction"
    )
    figures = f"{max(registers, default=0)} registers, {sum(spills)} bytes spilled, {counts}, {seconds:.0f} s"
    return f"{source:14} sm_{target}: {figures}", faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cutlass", type=Path, help="folder that holds cutlass/cutlass.h; else of the package nvidia-cutlass"
    )
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--separate", action="store_true", help="sm_100a and sm_103a on their own as well")
    parser.add_argument("--output", type=Path, help="where cubins stay; else nowhere")
    arguments = parser.parse_args()
    cutlass = arguments.cutlass or find_cutlass()
    if cutlass is None or not (cutlass / "cutlass" / "cutlass.h").exists():
        print(
            f"no CUTLASS in {cutlass}: pip install --no-deps nvidia-cutlass==4.2.0, or --cutlass FOLDER",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        output = arguments.output or Path(temporary)
        output.mkdir(parents=True, exist_ok=True)
        kernels = KERNELS + (SEPARATE if arguments.separate else [])
        start = time.monotonic()
        with ThreadPoolExecutor(arguments.jobs) as pool:
            results = list(
                pool.map(
                    lambda kernel: check_kernel(arguments.nvcc, cutlass.resolve(), output, *kernel), kernels
                )
            )
        for line, faults in results:
            print(line + "".join(f"\n    FAULT: {fault}" for fault in faults))
        print(f"compiled in {time.monotonic() - start:.0f} s")
        program = str(output / "sm100_pass_check")
        sources = [
            "tests/cuda/sm100_pass_check.cu",
            "csrc/multiply/sm100_pass.cpp",
            "csrc/multiply/gemm_problem.cpp",
            "csrc/multiply/cuda_schedule.cpp",
            "csrc/plan/plan.cpp",
            "csrc/plan/crt_constants.cpp",
            "csrc/reconstruct/reconstruct_plan.cpp",
        ]
        warnings = ["-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings"]
        run([arguments.nvcc, "-std=c++17", "-O3", *warnings, "-Icsrc", "-o", program, *sources])
        text, seconds = run([program])
        print(f"{text.strip()} in {seconds:.0f} s")
    return 1 if any(faults for _, faults in results) else 0


if __name__ == "__main__":
    sys.exit(main())
