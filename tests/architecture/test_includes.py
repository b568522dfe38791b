"""Includes within csrc: no file includes one of a layer above it; CPU code and GPU code include nothing of each other."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"

# From the bottom. Folders of one layer do not include each other.
LAYERS = [["arith"], ["plan"], ["cpu", "cuda"], ["product"], ["bindings", "c_api"], ["exec"]]
# Within them, files by their stems and folders. Folders of csrc/arith and csrc/cpu form no circle.
ARITH_LAYERS = [
    ["host_device"],
    ["float_fields", "fold", "modulo", "modes", "element_type", "limits", "multiples", "narrow"],
    ["wide"],
    ["limbs"],
    ["scale_entry"],
    ["accuracy"],
    ["exact"],
    ["update"],
]
CPU_LAYERS = [
    ["threading"],
    ["runtime"],
    ["bytes", "gemm"],
    ["scale"],
    ["encode"],
    ["crt", "multiply"],
    ["reconstruct"],
    ["repair", "standard"],
    ["blocks"],
    ["block_runner", "longer"],
    ["integers", "limbs"],
    ["direct", "words", "complex"],
    ["prepared"],
    ["matmul"],
    ["partial"],
]
# Files of one layer of csrc/cuda may include each other.
CUDA_LAYERS = [
    ["views", "entries", "line_order", "places", "code", "launch", "dependent_launch", "device", "runtime"],
    [
        "planes",
        "scale",
        "encode",
        "multiply",
        "elementwise",
        "reconstruct",
        "integers",
        "direct",
        "tiles",
        "thin",
        "repair",
        "standard",
    ],
    ["layout", "stages", "prepare"],
    ["matmul", "partial"],
]
# Families of kernels of csrc/cuda/multiply. They include ptx and walk, but not each other; ptx and walk include no family.
FAMILIES = ["hopper", "mma_sync", "tcgen05"]
SHARED = ["ptx", "walk"]


def includes() -> list[tuple[str, str]]:
    """(file, included file), both from csrc; what a build generates is no header."""
    return [
        (path.relative_to(CSRC).as_posix(), included)
        for path in sorted(CSRC.rglob("*"))
        if path.suffix in {".cpp", ".hpp", ".cu", ".cuh"}
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+\.(?:hpp|cuh))"', path.read_text(), flags=re.M)
    ]


def place_in(layers: list[list[str]], name: str) -> int:
    found = [i for i, layer in enumerate(layers) if name in layer]
    assert len(found) == 1, f"{name!r} has no place among {layers}: give it one"
    return found[0]


def stem(part: str) -> str:
    return PurePosixPath(part).stem


def breaks_layers(user: str, used: str) -> bool:
    here, there = user.split("/")[0], used.split("/")[0]
    return here != there and place_in(LAYERS, there) >= place_in(LAYERS, here)


def breaks_inner_layers(user: str, used: str) -> bool:
    for folder, layers in (("arith", ARITH_LAYERS), ("cpu", CPU_LAYERS)):
        if user.startswith(f"{folder}/") and used.startswith(f"{folder}/"):
            here, there = (stem(path.split("/")[1]) for path in (user, used))
            return here != there and place_in(layers, there) >= place_in(layers, here)
    return False


def breaks_cuda_layers(user: str, used: str) -> bool:
    if not (user.startswith("cuda/") and used.startswith("cuda/")):
        return False
    here, there = (stem(path.split("/")[1]) for path in (user, used))
    return place_in(CUDA_LAYERS, there) > place_in(CUDA_LAYERS, here)


def breaks_families(user: str, used: str) -> bool:
    prefix = "cuda/multiply/"
    if not (user.startswith(prefix) and used.startswith(prefix)):
        return False
    here, there = (path.removeprefix(prefix).split("/")[0] for path in (user, used))
    return there in FAMILIES and here != there and here in FAMILIES + SHARED


RULES = [breaks_layers, breaks_inner_layers, breaks_cuda_layers, breaks_families]


def test_every_include_is_a_file_of_csrc() -> None:
    assert {(user, used) for user, used in includes() if not (CSRC / used).is_file()} == set()


def test_includes_keep_to_the_layers() -> None:
    assert not [(user, used) for user, used in includes() if any(rule(user, used) for rule in RULES)]


def test_no_streams_of_cpp() -> None:
    """A C++ library that is linked in statically cannot share locales with another of the process: reading a number crashes."""
    streams = re.compile(
        r"^\s*#\s*include\s+<(fstream|iomanip|iostream|istream|locale|ostream|regex|sstream)>", re.M
    )
    assert streams.search("\n#include <sstream>\n")
    assert [str(path) for path in sorted(CSRC.rglob("*.[ch]*")) if streams.search(path.read_text())] == []


def test_the_rules_find_breaches() -> None:
    right = [
        ("plan/plan.cpp", "arith/fold.hpp"),
        ("cuda/matmul.cpp", "cuda/scale/scale.hpp"),
        ("arith/exact/settle.hpp", "arith/wide/round_wide.hpp"),
        ("cpu/reconstruct/reconstruct.cpp", "cpu/crt/columns.hpp"),
        ("cuda/encode/encode.cpp", "cuda/launch.hpp"),
        ("cuda/multiply/hopper/kernel.cuh", "cuda/multiply/walk/steps.cuh"),
        ("cuda/multiply/registry.cpp", "cuda/multiply/hopper/kernel.cuh"),
    ]
    wrong = [
        ("arith/fold.hpp", "plan/plan.hpp"),
        ("cpu/matmul.cpp", "cuda/views.hpp"),
        ("cuda/views.hpp", "cpu/matmul.hpp"),
        ("plan/plan.cpp", "bindings/views.hpp"),
        ("cuda/launch.cpp", "cuda/scale/scale.hpp"),
        ("arith/wide/round_wide.hpp", "arith/exact/settle.hpp"),
        ("cpu/crt/columns.cpp", "cpu/reconstruct/reconstruct.hpp"),
        ("cuda/multiply/check.cpp", "cuda/matmul.hpp"),
        ("cuda/multiply/hopper/kernel.cuh", "cuda/multiply/mma_sync/atom.cuh"),
        ("cuda/multiply/walk/steps.cuh", "cuda/multiply/tcgen05/pass.hpp"),
    ]
    assert [pair for pair in right if any(rule(*pair) for rule in RULES)] == []
    assert [pair for pair in wrong if not any(rule(*pair) for rule in RULES)] == []
