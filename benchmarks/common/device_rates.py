"""Peak rates of matrix units and memories of devices, as vendors state them: one table, for the runtime model.

Dense peaks per device, in 10^12 operations a second (an operation is half a multiply-add); 0 where there is no such unit.
Nominal: a kernel attains a fraction of them, and clocks drop under load. Where sources disagree the lower figure is taken
and a comment notes it. Only figures measured on the device itself can replace these.
"""

from __future__ import annotations

from dataclasses import dataclass

ATTAINED = 0.65  # of nominal peaks: what the paper's kernel reaches on its device
TERA = 1e12
GIGA = 1e9


@dataclass(frozen=True)
class Rates:
    """One device.

    Attributes
    ----------
    name : str
        As people call it.
    fp4, fp8, int8, fp64 : float
        Peak rates in 10^12 operations a second; fp64 is the faster of vector and matrix units.
    bandwidth : float
        Memory, 10^9 bytes a second.
    matches : tuple of str
        All of these, in lower case, occur in the name that the driver gives the device.
    int8_warp : float
        INT8 rate of warp-level instructions on devices with tcgen05, as kernels of tcgen05 store residues only; 0: no tcgen05.
    """

    name: str
    fp4: float
    fp8: float
    int8: float
    fp64: float
    bandwidth: float
    matches: tuple[str, ...]
    int8_warp: float = 0.0


# First match counts: longer names before their prefixes.
DEVICES: tuple[Rates, ...] = (
    # NVIDIA's data sheet states 4000 AI TOPS with sparsity; 2000/1000/1000 dense, FP64 as the paper measures it (1/64 of FP32).
    Rates("RTX PRO 6000", 2000, 1000, 1000, 1.85, 1792, ("rtx pro 6000",)),
    # NVIDIA RTX Blackwell architecture paper: 1676 FP4, 838 INT8, FP8 with FP32 sums 419 (FP4 measured: 1474 to 2060).
    Rates("RTX 5090", 1676, 419, 838, 1.64, 1792, ("rtx 5090",)),
    # NVIDIA HGX platform tables. FP8 of B300 is 4500 in most sources, 7000 in one; INT8 is nearly gone (150), FP64 1.25.
    Rates("GB300", 15000, 5000, 165, 1.3, 8000, ("gb300",), 165),
    Rates("B300", 13500, 4500, 150, 1.25, 7700, ("b300",), 150),
    # GB200: some tables give 9000/4500/4500. Warp-level INT8: 1024 multiply-adds a clock and multiprocessor, assumed.
    Rates("GB200", 10000, 5000, 5000, 40, 8000, ("gb200",), 560),
    Rates("B200", 9000, 4500, 4500, 37, 7700, ("b200",), 560),
    # NVIDIA's data sheets, SXM boards. FP8 keeps 13 fraction bits of its sums: not usable for exact ones.
    Rates("H200", 0, 1979, 1979, 67, 4800, ("h200",)),
    Rates("H100 SXM", 0, 1979, 1979, 67, 3350, ("h100",)),
    Rates("A100 SXM", 0, 0, 624, 19.5, 2039, ("a100",)),
    # NVIDIA Ada data sheets; FP8 of the 4090 with FP32 accumulation.
    Rates("L40S", 0, 733, 733, 1.4, 864, ("l40s",)),
    Rates("RTX 4090", 0, 330, 661, 1.29, 1008, ("rtx 4090",)),
)


def device_rates(name: str) -> Rates | None:
    """The table's entry for a device as its driver names it, e.g. ``"NVIDIA H200"``; None if it is not in the table."""
    lower = name.lower()
    return next((rates for rates in DEVICES if all(text in lower for text in rates.matches)), None)


def alphabet_rate(rates: Rates, alphabet: str) -> float:
    """Peak of the unit that multiplies planes of this alphabet on the device, 10^12 operations a second.

    Limbs of the FP4 alphabet fit a byte, so without a faster FP4 unit they run on the INT8 unit. "native" is the FP64
    unit; "fp8" is here for comparison, this package has no such backend. 0: no unit.

    Raises
    ------
    ValueError
        For an unknown alphabet.
    """
    by_alphabet = {
        "fp4": max(rates.fp4, rates.int8),
        "int8": rates.int8,
        "fp8": rates.fp8,
        "native": rates.fp64,
    }
    if alphabet not in by_alphabet:
        raise ValueError(
            f"alphabet: {alphabet!r} is unknown; allowed are {', '.join(map(repr, by_alphabet))}"
        )
    return by_alphabet[alphabet]
