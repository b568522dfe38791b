"""Looks for the fence between a kernel's barriers and what arrives at them from outside its block.

    python tools/check_fences.py BUILD

BUILD: a build of the CUDA kernels, configured with CMAKE_EXPORT_COMPILE_COMMANDS and nvcc's option --no-compress. Machine code
names the kernels: those that initialise barriers, and that have bulk copies or stores of other blocks complete on them. It
does not show the fence: ptxas makes no instruction of fence.mbarrier_init. The sources of these kernels are therefore
compiled once more, to PTX, and there the fence must stand behind the last mbarrier.init of each. Exits with 1 where it does not.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_cubins import elf_images, read_kernels

INIT = "SYNCS.EXCH"
FENCE = "fence.mbarrier_init"
CUTLASS = "_ZN7cutlass"
ARRIVALS = ("UTMALDG", "UBLKCP", "STAS")  # tensor and bulk copies, asynchronous stores
# With what follows them, else alone.
PAIRED, ALONE = ("-o", "-MT", "-MF"), ("-c", "-MD")


def kernels_to_check(data: bytes) -> dict[str, set[str]]:
    """Names of the kernels in an object file that need the fence, by target."""
    found: dict[str, set[str]] = defaultdict(set)
    for image in elf_images(data):
        for kernel in read_kernels(image):
            if kernel.opcodes[INIT] and any(kernel.opcodes[arrival] for arrival in ARRIVALS):
                found[kernel.target].add(kernel.name)
    return found


def unfenced(ptx: str, names: Iterable[str]) -> list[str]:
    """The kernels that have no fence behind their last initialisation of a barrier, or are not there."""
    parts = re.split(r"\.entry\s+([\w$]+)", ptx)
    bodies = dict(zip(parts[1::2], parts[2::2], strict=True))

    def is_fenced(name: str) -> bool:
        body = bodies.get(name, "")
        # CUTLASS has a fence behind each pipeline's barriers, and then one more barrier, at which no copy arrives.
        behind = body.find if name.startswith(CUTLASS) else body.rfind
        return body.rfind(FENCE) > behind("mbarrier.init")

    return [name for name in names if not is_fenced(name)]


def ptx_command(command: list[str], target: str) -> list[str]:
    """The command that makes PTX for one target of what `command` compiles."""
    kept: list[str] = []
    skip = False
    for word in command:
        if skip or word in PAIRED or word in ALONE:
            skip = word in PAIRED and not skip
            continue
        codes = re.fullmatch(r"--generate-code=arch=(compute_\w+),code=\[?([\w,]+)\]?", word)
        if codes is None:
            kept.append(word)
        elif any(code.rstrip("af") == target for code in codes[2].split(",")):
            kept.append(f"--generate-code=arch={codes[1]},code={codes[1]}")
    return [*kept, "-ptx", "-o", "-"]


def check(command: list[str], folder: str, target: str, names: set[str]) -> list[str]:
    done = subprocess.run(ptx_command(command, target), cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(done.args)}\n{done.stderr}")
    return [f"{target} {name}" for name in unfenced(done.stdout, sorted(names))]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    build = parser.parse_args().build
    jobs = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        command = shlex.split(entry["command"])
        if not entry["file"].endswith(".cu"):
            continue
        made = Path(entry["directory"], command[command.index("-o") + 1])
        if made.exists():
            targets = kernels_to_check(made.read_bytes())
            jobs += [(command, entry["directory"], target, names) for target, names in targets.items()]
    count = sum(len(names) for _, _, _, names in jobs)
    if count == 0:
        print("no kernel was found at whose barriers copies arrive", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [fault for found in pool.map(check, *zip(*jobs, strict=True)) for fault in found]
    for fault in faults:
        print(f"no fence behind the initialisation of barriers: {fault}")
    print(f"{count} kernels at whose barriers copies arrive; {len(faults)} without the fence")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
