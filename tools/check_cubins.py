"""Reads the kernels that a build holds and checks them, without a GPU and without NVIDIA's tools.

    python tools/check_cubins.py BINARY_OR_CUBIN... [--require sm_80 ...] [--ptx sm_80] [--quiet]

Takes cubins, or binaries that hold them uncompressed (object files, shared libraries built with nvcc's option --no-compress).
For every kernel: registers, threads, stack, static shared memory, tensor-core instructions by the fields of their 128-bit
words. Exits with 1 when a kernel spills (a stack frame, or loads and stores of local memory), calls a function, or does not
fit the registers of a multiprocessor. Exits with 1, too, when a kernel multiplies with another instruction than its name
implies: a kernel of E2M1 codes holds FP4 instructions and none of bytes or f8f6f4. Opcodes are those of the toolkits that
KNOWN_TOOLKITS names.

--require: these targets must have kernels, and those with FP4 units (FP4_KERNELS) their FP4 kernels. --ptx: the PTX that
later GPUs compile must be there for that target: of every kernel that does without features of one architecture.
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
    0x5B2: "SYNCS.EXCH",  # mbarrier.init
    0x5B4: "UTMALDG",
    0x3BA: "UBLKCP",
    0xDBD: "STAS",  # st.async
}
# tcgen05 of data-centre Blackwell: one opcode of eleven bits, the kind in the upper word.
UTC_OPCODE = 0x5EA
UTC_KINDS = ("UTCHMMA", "UTCIMMA", "UTC?MMA", "UTCQMMA")
UTC_FP4 = "UTCOMMA"
TENSOR = ("IMMA", "QMMA", "OMMA", "IGMMA", UTC_FP4, *UTC_KINDS)
# The instructions that a kernel must hold and must not, by the atom in its mangled name.
RULES = {
    "Fp4Atom": "OMMA",
    "ByteAtom": "IMMA",
    "StandInAtom": "IMMA",
    "hopper11gemm_kernel": "IGMMA",
    "tcgen0511Fp4Mainloop": UTC_FP4,
    "tcgen0513Fp4Mainloop96": UTC_FP4,
    "tcgen0512ByteMainloop": "UTCIMMA",
}
# Each build for these targets must hold a kernel with this mark.
FP4_KERNELS = {"sm_100": "tcgen0511Fp4Mainloop", "sm_103": "tcgen0513Fp4Mainloop96", "sm_120": "Fp4Atom"}
# Kernels that PTX for later GPUs must hold, by a part of their names.
PTX_KERNELS = ("scale", "encode", "ByteAtom", "reconstruct")
MAX_REGISTERS = 255
REGISTER_FILE = 65536  # of a multiprocessor; a warp takes them eight a thread at a time
# Shared memory that a block may ask for beyond its static part is a launch parameter, asserted where kernels are put
# together: tiles.hpp of mma_sync and hopper, kernel.cuh of tcgen05.
MAX_STATIC_SHARED = 49152
# Kernels with functions that save registers once a tile. Any other spill is in the log of ptxas, which .ci/cuda reads.
CALLS = ("chaining",)


@dataclass
class Kernel:
    target: str
    name: str
    registers: int = 0
    frame: int = 0
    shared: int = 0
    threads: int = 0  # of a block, at most; 0: unbounded
    opcodes: Counter[str] = field(default_factory=Counter)

    def faults(self) -> list[str]:
        found = []
        if not any(mark in self.name for mark in CALLS):
            if self.frame:
                found.append(f"stack frame of {self.frame} bytes")
            found += [f"{self.opcodes[opcode]} {opcode}" for opcode in ("STL", "LDL") if self.opcodes[opcode]]
        for opcode in ("CALL.ABS",):
            if self.opcodes[opcode]:
                found.append(f"{self.opcodes[opcode]} calls out of the kernel")
        if self.registers > MAX_REGISTERS:
            found.append(f"{self.registers} registers")
        if -(-self.registers // 8) * 8 * self.threads > REGISTER_FILE:
            found.append(f"{self.registers} registers for each of {self.threads} threads")
        if self.shared > MAX_STATIC_SHARED:
            found.append(f"{self.shared} bytes of static shared memory")
        for mark, needed in RULES.items():
            if mark in self.name:
                if not self.opcodes[needed]:
                    found.append(f"no {needed}")
                found += [
                    f"{self.opcodes[opcode]} {opcode}"
                    for opcode in TENSOR
                    if opcode != needed and self.opcodes[opcode]
                ]
        return found


def opcode_name(low: int, high: int) -> str | None:
    """The name of an instruction from its two words, if OPCODES has it or it is a tensor-core instruction of tcgen05."""
    if low & 0x7FF != UTC_OPCODE:
        return OPCODES.get(low & 0xFFF)
    kind = high >> 8 & 3
    return UTC_FP4 if kind == 0 and low >> 62 else UTC_KINDS[kind]


def ptx_entries(data: bytes) -> dict[str, list[str]]:
    """Names of the kernels in the PTX that lies uncompressed in a binary, by target."""
    found: dict[str, list[str]] = {}
    for match in re.finditer(rb"\n\.target (sm_\d+[af]?)", data):
        end = data.find(b"\0", match.end())
        text = data[match.end() : end if end >= 0 else len(data)]
        names = [name.decode() for name in re.findall(rb"\.entry\s+([\w$]+)", text)]
        found.setdefault(match[1].decode(), []).extend(names)
    return found


def elf_images(data: bytes) -> Iterator[bytes]:
    """CUDA ELF images in `data`: a cubin, or those that lie uncompressed in a fat binary."""
    at = data.find(b"\x7fELF")
    while at >= 0:
        if len(data) - at >= 64 and data[at + 4] == 2 and struct.unpack_from("<H", data, at + 18)[0] == 190:
            yield data[at:]
        at = data.find(b"\x7fELF", at + 4)


def max_threads(image: bytes, info: tuple[int, ...] | None) -> int:
    """Threads of a block by a kernel's launch bounds (attribute 0x05 of its section of attributes); 0 without any."""
    if info is None:
        return 0
    at, end = info[4], info[4] + info[5]
    while at < end:
        kind, attribute, size = struct.unpack_from("<BBH", image, at)
        if kind == 4 and attribute == 0x05 and size == 12:
            x, y, z = struct.unpack_from("<III", image, at + 4)
            return int(x * y * z)
        at += 4 + (size if kind == 4 else 0)
    return 0


class Sections:
    """The sections of a cubin, by name."""

    def __init__(self, image: bytes) -> None:
        self.image = image
        table = struct.unpack_from("<Q", image, 0x28)[0]
        flags = struct.unpack_from("<I", image, 0x30)[0]
        count, self._names = struct.unpack_from("<HH", image, 0x3C)
        self.headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + 64 * i) for i in range(count)]
        # The architecture is bits 8..15 of the flags since CUDA 13, bits 0..7 before.
        self.target = f"sm_{flags >> 8 & 0xFF if image[8] >= 8 else flags & 0xFF}"
        self.by_name = {self.text(self._names, header[0]): header for header in self.headers}

    def text(self, table: int, offset: int) -> str:
        """The string at an offset of the string table with this index."""
        start = self.headers[table][4] + offset
        return self.image[start : self.image.index(b"\0", start)].decode()

    def code(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Names of kernels and functions, and the headers of their code."""
        for name, header in self.by_name.items():
            if name.startswith(".text."):
                yield name[6:], header


def read_sections(image: bytes, target: str) -> Iterator[tuple[str, bytes]]:
    """Names and machine code of the kernels of a cubin; nothing of a cubin for another target."""
    sections = Sections(image)
    if sections.target == target:
        for name, header in sections.code():
            yield name, image[header[4] : header[4] + header[5]]


def read_kernels(image: bytes) -> list[Kernel]:
    sections = Sections(image)
    headers, text = sections.headers, sections.text
    symbols_index = next((i for i, header in enumerate(headers) if header[1] == 2), None)
    kernels: dict[str, Kernel] = {}
    for name, header in sections.code():
        kernel = Kernel(sections.target, name)
        kernel.registers = header[7] >> 24
        for at in range(header[4], header[4] + header[5], 16):
            opcode = opcode_name(*struct.unpack_from("<QQ", image, at))
            if opcode is not None:
                kernel.opcodes[opcode] += 1
        shared = sections.by_name.get(".nv.shared." + kernel.name)
        kernel.shared = shared[5] if shared else 0
        kernel.threads = max_threads(image, sections.by_name.get(".nv.info." + kernel.name))
        kernels[kernel.name] = kernel
    # Attributes of all functions: format 4 (sized), attribute 0x11 frame size, 0x2f registers; symbol index, value.
    info = sections.by_name.get(".nv.info")
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
    """The tile and parts of a multiply kernel, else the name's last words."""
    if "tcgen0511Fp4Mainloop" in name:
        return "tcgen05 fp4 256x256"
    if "tcgen0513Fp4Mainloop96" in name:
        return "tcgen05 fp4 K=96 256x256"
    if "tcgen0512ByteMainloop" in name:
        return "tcgen05 u8 256x256"
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
    parser.add_argument("--ptx", help="target that must have PTX, as sm_80")
    parser.add_argument("--quiet", action="store_true", help="faults and totals only")
    arguments = parser.parse_args()
    binaries = [path.read_bytes() for path in arguments.files]
    kernels = [kernel for data in binaries for image in elf_images(data) for kernel in read_kernels(image)]
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
    print(
        ", ".join(f"{target}: {count} kernels" for target, count in sorted(totals.items()))
        + f"; {bad} with faults"
    )
    missing = [target for target in arguments.require if target not in totals]
    missing += [
        f"an FP4 kernel for {target}"
        for target in arguments.require
        if target in FP4_KERNELS
        and not any(k.target == target and FP4_KERNELS[target] in k.name for k in kernels)
    ]
    if arguments.ptx:
        entries = [name for data in binaries for name in ptx_entries(data).get(arguments.ptx, [])]
        missing += [
            f"PTX for {arguments.ptx} of kernels named {part}"
            for part in PTX_KERNELS
            if not any(part in name for name in entries)
        ]
        print(f"PTX for {arguments.ptx}: {len(entries)} kernels")
    if missing:
        print("missing: " + ", ".join(missing))
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
