"""The shapes of a matrix product by NumPy's rules, for arrays and tensors alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Extents = tuple[int, ...]


@dataclass(frozen=True)
class MatmulShape:
    """Extents of one product: `stack` of m × k by k × n, and what the caller sees."""

    stack: Extents
    m: int
    n: int
    k: int
    a_vector: bool
    b_vector: bool

    @property
    def result(self) -> Extents:
        """The result's shape: the axes that 1-D operands lack are removed."""
        return (*self.stack, *(() if self.a_vector else (self.m,)), *(() if self.b_vector else (self.n,)))

    @property
    def matrices(self) -> Extents:
        """The result's shape with both matrix axes."""
        return (*self.stack, self.m, self.n)


def matmul_shape(a: Extents, b: Extents) -> MatmulShape:
    """The product's extents; ValueError naming the shapes where they do not fit."""
    for name, shape in (("a", a), ("b", b)):
        if not shape:
            raise ValueError(f"{name}: a 0-d array is not a matrix; at least 1 dimension is needed")
    a_vector, b_vector = len(a) == 1, len(b) == 1
    m, k_a = (1, a[0]) if a_vector else a[-2:]
    k_b, n = (b[0], 1) if b_vector else b[-2:]
    if k_a != k_b:
        raise ValueError(f"inner dimensions differ: a has shape {a}, b has shape {b}: {k_a} != {k_b}")
    stack_a, stack_b = a[:-2], b[:-2]
    if stack_a == stack_b:
        stack = stack_a
    else:
        try:
            stack = np.broadcast_shapes(stack_a, stack_b)
        except ValueError:
            raise ValueError(f"stacks do not broadcast: a has shape {a}, b has shape {b}") from None
    return MatmulShape(stack, m, n, k_a, a_vector, b_vector)
