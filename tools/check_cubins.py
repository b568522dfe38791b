"""Reads the kernels that a build holds and checks them, without a GPU and without NVIDIA's tools.

    python tools/check_cubins.py BINARY_OR_CUBIN... [--require sm_80 ...] [--quiet]

Takes cubins, or binaries that hold them uncompressed (object files, shared libraries built with nvcc's option --no-compress).
For every kernel: registers, stack, shared memory, tensor-core instructions by the low twelve bits of their 128-bit words.
Exits with 1 when a kernel spills (a stack frame, or loads and stores of local memory), calls a function, or, by its name,
multiplies with the wrong instruction. Opcodes are those of the toolkits that KNOWN_TOOLKITS names.
"""

import argparse
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

KNOWN_TOOLKITS = "CUDA 13.0"
OPCODES = {
    0x237: "IMMA",  # s8, u8
    0x27A: "QMMA",  # f8f6f4
    0x47F: "OMMA",  # mxf4, mxf4nvf4
    0x9F1: "IGMMA",  # wgmma s8, u8
    0x83B: "LDSM",
    0x387: "STL",
    0x983: "LDL",
    0x343: "CALL.ABS",
    0x944: "CALL.REL",
}
TENSOR = ("IMMA", "QMMA", "OMMA", "IGMMA")
# What a kernel must hold and must not, by the atom in its mangled name.
RULES = {
    "Fp4Atom": ({"OMMA"}, {"IMMA", "QMMA", "IGMMA"}),
    "ByteAtom": ({"IMMA"}, {"OMMA", "QMMA", "IGMMA"}),
    "StandInAtom": ({"IMMA"}, {"OMMA", "QMMA", "IGMMA"}),
    "sm9011gemm_kernel": ({"IGMMA"}, {"OMMA", "QMMA", "IMMA"}),
}
MAX_REGISTERS = 255
# Shared memory that a block may ask for beyond its static part is a launch parameter; warp_config.cuh asserts it.
MAX_STATIC_SHARED = 49152


@dataclass
class Kernel:
    target: str
    name: str
    registers: int = 0
    frame: int = 0
    shared: int = 0
    opcodes: Counter[str] = field(default_factory=Counter)

    def faults(self) -> list[str]:
        found = []
        if self.frame:
            found.append(f"stack frame of {self.frame} bytes")
        for opcode in ("STL", "LDL"):
            if self.opcodes[opcode]:
                found.append(f"{self.opcodes[opcode]} {opcode}")
        for opcode in ("CALL.ABS",):
            if self.opcodes[opcode]:
                found.append(f"{self.opcodes[opcode]} calls out of the kernel")
        if self.registers > MAX_REGISTERS:
            found.append(f"{self.registers} registers")
        if self.shared > MAX_STATIC_SHARED:
            found.append(f"{self.shared} bytes of static shared memory")
        for mark, (needed, forbidden) in RULES.items():
            if mark in self.name:
                found += [f"no {opcode}" for opcode in sorted(needed) if not self.opcodes[opcode]]
                found += [
                    f"{self.opcodes[opcode]} {opcode}" for opcode in sorted(forbidden) if self.opcodes[opcode]
                ]
        return found


def elf_images(data: bytes) -> Iterator[bytes]:
    """CUDA ELF images in `data`: a cubin, or those that lie uncompressed in a fat binary."""
    at = data.find(b"\x7fELF")
    while at >= 0:
        if len(data) - at >= 64 and data[at + 4] == 2 and struct.unpack_from("<H", data, at + 18)[0] == 190:
            yield data[at:]
        at = data.find(b"\x7fELF", at + 4)


def read_kernels(image: bytes) -> list[Kernel]:
    section_table = struct.unpack_from("<Q", image, 0x28)[0]
    flags = struct.unpack_from("<I", image, 0x30)[0]
    count, names_index = struct.unpack_from("<HH", image, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, section_table + 64 * i) for i in range(count)]

    def text(table: int, offset: int) -> str:
        start = headers[table][4] + offset
        return image[start : image.index(b"\0", start)].decode()

    sections = {text(names_index, header[0]): header for header in headers}
    # The architecture is bits 8..15 of the flags since CUDA 13, bits 0..7 before.
    architecture = flags >> 8 & 0xFF if image[8] >= 8 else flags & 0xFF
    symbols_index = next((i for i, header in enumerate(headers) if header[1] == 2), None)
    kernels: dict[str, Kernel] = {}
    for name, header in sections.items():
        if not name.startswith(".text."):
            continue
        kernel = Kernel(f"sm_{architecture}", name[6:])
        kernel.registers = header[7] >> 24
        for at in range(header[4], header[4] + header[5], 16):
            low = struct.unpack_from("<H", image, at)[0] & 0xFFF
            if low in OPCODES:
                kernel.opcodes[OPCODES[low]] += 1
        shared = sections.get(".nv.shared." + kernel.name)
        kernel.shared = shared[5] if shared else 0
        kernels[kernel.name] = kernel
    # Attributes of all functions: format 4 (sized), attribute 0x11 frame size, 0x2f registers; symbol index, value.
    info = sections.get(".nv.info")
    if info and symbols_index is not None:
        at, end = info[4], info[4] + info[5]
        symbols = headers[symbols_index]
        while at < end:
            kind, attribute, size = struct.unpack_from("<BBH", image, at)
            if kind == 4 and size == 8 and attribute in (0x11, 0x2F):
                symbol, value = struct.unpack_from("<II", image, at + 4)
                name = text(symbols[6], struct.unpack_from("<I", image, symbols[4] + 24 * symbol)[0])
                if name in kernels:
                    setattr(kernels[name], "frame" if attribute == 0x11 else "registers", value)
            at += 4 + (size if kind == 4 else 0)
    return list(kernels.values())


def short_name(name: str) -> str:
    """The tile and parts of a warp-level kernel, the tile of a Hopper one, else the name's last words."""
    parts = [part for part in ("Fp4Atom", "StandInAtom", "ByteAtomILb0", "ByteAtomILb1") if part in name]
    loader = re.search(r"(Copy|Bulk)Loader", name)
    sizes = re.findall(r"Li(\d+)E", name)
    labels = {"ByteAtomILb0": "u8", "ByteAtomILb1": "s8", "Fp4Atom": "fp4", "StandInAtom": "stand-in"}
    if parts and loader and len(sizes) >= 7:
        return f"warp {labels[parts[0]]} {loader[1].lower()} {sizes[0]}x{sizes[1]} stages {sizes[5]}"
    words = re.findall(r"\d+([a-z][a-z_0-9]*_kernel|[a-z][a-z_]+)", name)
    return (words[-1] if words else name[:40]) + ("" if not sizes else " " + "x".join(sizes))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--require", nargs="*", default=[], help="targets that must be there, as sm_80")
    parser.add_argument("--quiet", action="store_true", help="faults and totals only")
    arguments = parser.parse_args()
    kernels = [
        kernel
        for path in arguments.files
        for image in elf_images(path.read_bytes())
        for kernel in read_kernels(image)
    ]
    if not kernels:
        print(
            "no kernels found: compressed fat binaries cannot be read, build with nvcc --no-compress",
            file=sys.stderr,
        )
        return 1
    bad = 0
    for kernel in sorted(kernels, key=lambda k: (k.target, short_name(k.name))):
        faults = kernel.faults()
        bad += bool(faults)
        if faults or not arguments.quiet:
            tensor = " ".join(f"{kernel.opcodes[t]} {t}" for t in (*TENSOR, "LDSM") if kernel.opcodes[t])
            verdict = "FAULT: " + ", ".join(faults) if faults else "ok"
            print(
                f"{kernel.target:7} {short_name(kernel.name):44} {kernel.registers:3} registers  {tensor:24} {verdict}"
            )
    totals = Counter(kernel.target for kernel in kernels)
    missing = [target for target in arguments.require if target not in totals]
    print(
        ", ".join(f"{target}: {count} kernels" for target, count in sorted(totals.items()))
        + f"; {bad} with faults"
    )
    if missing:
        print("missing: " + ", ".join(missing))
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
