"""A model: the bounds of an N x N x N product over hosts of eight GPUs, and from which N on they are the products.

A mesh of R x C ranks has the rows of A and of C cut in R, the columns of B and of C in C. Each rank gathers its rows of A,
8 N² / R bytes, from those of its mesh row, and its columns of B from those of its mesh column. Gathered data come into each host
once, through the network adapters of the group's ranks there, and into each GPU once, by NVLink: the slower one
counts. Then it scales and encodes all of these rows and columns, as others of its mesh row or column do, and multiplies.

With C = 1 this is the cut of rows that ``ozfp4.distributed.matmul`` makes; meshes are those of DTensor's placements. Data move
before all other work, or at the same time at no cost: the times of programs lie between both.

Nothing here was measured on more than a host, and nothing on Blackwell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from common.device_rates import GIGA, TERA, device_rates
from common.experiment import Row
from common.paper_model import contenders, projection

GROUPS = (8, 64, 512)
HOST = 8  # GPUs
SIZES = tuple(2**i for i in range(12, 21))
SHOWN = 65536
# All-gather of four H200 of one host, received by each; NVLink 4 is 450 GB/s each way.
NVLINK_4 = 343 * GIGA
ATTAINED_LINK = NVLINK_4 / (450 * GIGA)
NVLINK_5 = ATTAINED_LINK * 900 * GIGA
ATTAINED = 0.65  # of nominal peaks, as in model.py
MODELLED_N = 16384  # its rate of products is taken


@dataclass(frozen=True)
class Cluster:
    """GPUs of one kind; operations and bytes a second of each."""

    name: str
    backend: str
    rate: float  # 2 n^3 over the time of an n x n x n product, n = MODELLED_N
    encode: float  # seconds to scale and encode an entry of an operand
    nvlink: float  # what it receives inside of its host
    adapter: float  # and from others through its own network adapter
    basis: str  # where `rate` comes from

    @property
    def products(self) -> float:
        """Operations a second once operands are encoded."""
        n = MODELLED_N
        return 2.0 * n**3 / (2.0 * n**3 / self.rate - 2 * n * n * self.encode)


@lru_cache(maxsize=1)
def clusters() -> tuple[Cluster, ...]:
    """An H200 as measured on one host, Blackwell as modelled; 400 and 800 Gb/s of InfiniBand a GPU, nominal."""
    field = {contender.name: contender for contender in contenders(MODELLED_N)}

    def made(
        device: str, backend: str, contender: str, rate: float, nvlink: float, adapter: float
    ) -> Cluster:
        rates = device_rates(device)
        assert rates is not None
        encode = field[contender].moved.operand / (ATTAINED * GIGA * rates.bandwidth)
        found = rate or TERA * projection(field[contender], rates, MODELLED_N, ATTAINED)
        basis = "about what is measured" if rate else "modelled"
        return Cluster(device, backend, found, encode, nvlink, adapter, basis)

    return (
        made("H200", "int8", "INT8", 90 * TERA, NVLINK_4, 50 * GIGA),
        made("B200", "int8", "INT8", 0.0, NVLINK_5, 50 * GIGA),
        made("B300", "fp4", "FP4 least", 0.0, NVLINK_5, 100 * GIGA),
    )


@dataclass(frozen=True)
class Mesh:
    """Ranks in rows and columns: `hosts` of them, each with `inside`; both are (rows, columns)."""

    hosts: tuple[int, int]
    inside: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        return self.hosts[0] * self.inside[0], self.hosts[1] * self.inside[1]

    @property
    def ranks(self) -> int:
        return self.shape[0] * self.shape[1]


ONE = Mesh((1, 1), (1, 1))


def rows_only(ranks: int) -> Mesh:
    """The cut of rows alone, over whole hosts."""
    inside = min(ranks, HOST)
    return Mesh((ranks // inside, 1), (inside, 1))


def best_mesh(ranks: int, cluster: Cluster) -> Mesh:
    """The mesh, among all that fill whole hosts, with the least time of moving and encoding; of equal ones the one with the
    fewest columns."""
    inside = min(ranks, HOST)
    found = [
        Mesh((rows, ranks // inside // rows), (own, inside // own))
        for rows in _divisors(ranks // inside)
        for own in _divisors(inside)
    ]

    def order(mesh: Mesh) -> tuple[float, int]:
        return moving_seconds(1, mesh, cluster) + encode_seconds(1, mesh, cluster), mesh.shape[1]

    return min(found, key=order)


def _divisors(x: int) -> list[int]:
    return [i for i in range(1, x + 1) if x % i == 0]


def gather_seconds(received: float, inside: int, hosts: int, cluster: Cluster) -> float:
    """The seconds of an all-gather to `hosts` times `inside` ranks, `received` bytes with a rank's own part."""
    ranks = inside * hosts
    by_nvlink = received * (1 - 1 / ranks) / cluster.nvlink if inside > 1 else 0.0
    return max(by_nvlink, received * (1 - 1 / hosts) / (inside * cluster.adapter))


def moving_seconds(n: int, mesh: Mesh, cluster: Cluster) -> float:
    """The seconds of gathering both operands of an n x n x n product, one after the other; in proportion to n²."""
    rows, columns = mesh.shape
    of_a = gather_seconds(8.0 * n * n / rows, mesh.inside[1], mesh.hosts[1], cluster)
    return of_a + gather_seconds(8.0 * n * n / columns, mesh.inside[0], mesh.hosts[0], cluster)


def product_seconds(n: int, ranks: int, cluster: Cluster) -> float:
    """The seconds of an n x n x n product of encoded operands that the ranks share evenly."""
    return 2.0 * n**3 / ranks / cluster.products


def encode_seconds(n: int, mesh: Mesh, cluster: Cluster) -> float:
    """The seconds of encoding a rank's parts of both operands; in proportion to n²."""
    rows, columns = mesh.shape
    return cluster.encode * n * n * (1 / rows + 1 / columns)


def seconds(n: int, mesh: Mesh, cluster: Cluster, *, hidden: bool = False) -> float:
    """The seconds of the whole product; `hidden`: data move while products are made."""
    local = product_seconds(n, mesh.ranks, cluster) + encode_seconds(n, mesh, cluster)
    moving = moving_seconds(n, mesh, cluster)
    return max(local, moving) if hidden else local + moving


def efficiency(n: int, mesh: Mesh, cluster: Cluster, *, hidden: bool = False) -> float:
    """The speed of a rank compared with one rank alone."""
    return seconds(n, ONE, cluster) / mesh.ranks / seconds(n, mesh, cluster, hidden=hidden)


def equal_size(mesh: Mesh, cluster: Cluster) -> float:
    """The N up to which what moves takes longer than what a rank computes; 0 where it never does."""
    more = moving_seconds(1, mesh, cluster) - encode_seconds(1, mesh, cluster)
    return max(0.0, more / product_seconds(1, mesh.ranks, cluster))


def size_for(share: float, mesh: Mesh, cluster: Cluster, *, hidden: bool = False) -> float:
    """The N from which on the efficiency is at least `share`, 0 < share < 1."""
    step = product_seconds(1, mesh.ranks, cluster)  # times n^3, all others times n^2
    moving, encode = moving_seconds(1, mesh, cluster), encode_seconds(1, mesh, cluster)
    own = encode_seconds(1, ONE, cluster) / mesh.ranks
    if not hidden:
        return max(0.0, (share * (encode + moving) - own) / (1 - share) / step)
    return max(0.0, (share * moving - own) / step, (share * encode - own) / (1 - share) / step)


def slower_link(mesh: Mesh, cluster: Cluster) -> str:
    """The slower link of the gathers: "NVLink", "network", or "both" where that differs between the operands."""
    found = set()
    for operand, other in ((0, 1), (1, 0)):  # rows of A travel along mesh rows, and so over columns
        inside, hosts = mesh.inside[other], mesh.hosts[other]
        if inside * hosts > 1:
            received = 8.0 / mesh.shape[operand]
            adapters = received * (1 - 1 / hosts) / (inside * cluster.adapter)
            found.add("network" if gather_seconds(received, inside, hosts, cluster) == adapters else "NVLink")
    return found.pop() if len(found) == 1 else "both"


def rows() -> list[Row]:
    """The bounds of products on each cluster, by rows alone and by the best mesh: a row for each and for each of GROUPS. Times
    are of N = SHOWN."""
    return [
        _row(cluster, mesh)
        for cluster in clusters()
        for ranks in GROUPS
        for mesh in (rows_only(ranks), best_mesh(ranks, cluster))
    ]


def _row(cluster: Cluster, mesh: Mesh) -> Row:
    return {
        "GPU": cluster.name,
        "backend": cluster.backend,
        "TFLOPS": round(cluster.rate / TERA),
        "basis": cluster.basis,
        "ranks": mesh.ranks,
        "mesh": f"{mesh.shape[0]} × {mesh.shape[1]}",
        "waits for": slower_link(mesh, cluster),
        "moving ms": _ms(moving_seconds(SHOWN, mesh, cluster)),
        "encode ms": _ms(encode_seconds(SHOWN, mesh, cluster)),
        "products ms": _ms(product_seconds(SHOWN, mesh.ranks, cluster)),
        "efficiency": round(efficiency(SHOWN, mesh, cluster), 3),
        "hidden efficiency": round(efficiency(SHOWN, mesh, cluster, hidden=True), 3),
        "links bound up to": round(equal_size(mesh, cluster)),
        "nine tenths from": round(size_for(0.9, mesh, cluster)),
        "hidden nine tenths from": round(size_for(0.9, mesh, cluster, hidden=True)),
    }


def _ms(taken: float) -> float:
    return float(f"{1e3 * taken:.3g}")
