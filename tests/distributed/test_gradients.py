"""Gradients over groups have the bits of those on one device, and lie as the operands do: all but chains along a stack that an
operand repeats."""

from __future__ import annotations

import torch
from cases import draw, equal, natural, part
from ranks import Here, Ranks

import ozfp4
import ozfp4.distributed


def many(here: Here, seeds: range) -> list[str]:
    """The errors found, by seed."""
    wrong = []
    for seed in seeds:
        a, b, layout, result, options = draw(seed, integers=0.0, stacks=0.5)
        if a.shape[:-2] != b.shape[:-2] and options.get("accuracy", "standard") == "standard":
            options["accuracy"] = (
                "correct"  # the layout decides in which order a chain goes along a repeated stack
            )
        needed = [(True, True), (True, False), (False, True)][seed % 3]
        whole = [x.clone().requires_grad_(need) for x, need in zip((a, b), needed, strict=True)]
        c = ozfp4.matmul(*whole, **options)
        grad = torch.randn(c.shape, generator=torch.Generator().manual_seed(seed), dtype=c.dtype)
        c.backward(grad)
        parts = [
            part(x, word, here.rank, here.size).to(here.device).clone().requires_grad_(need)
            for x, word, need in zip((a, b), layout, needed, strict=True)
        ]
        found = ozfp4.distributed.matmul(*parts, layout=layout, result=result, **options)
        word = result or natural(layout)
        if not equal(found.detach().cpu(), part(c.detach(), word, here.rank, here.size)):
            wrong.append(f"seed {seed}")
        found.backward(part(grad, word, here.rank, here.size).to(here.device))
        for x, mine, each in zip(whole, parts, layout, strict=True):
            if (x.grad is None) != (mine.grad is None):
                wrong.append(f"seed {seed}: a gradient is missing or too much")
            elif x.grad is not None and not equal(mine.grad.cpu(), part(x.grad, each, here.rank, here.size)):
                wrong.append(f"seed {seed}: {tuple(a.shape)} {tuple(b.shape)} {layout} {result} {options}")
    return wrong


def test_gradients(ranks: Ranks) -> None:
    for wrong in ranks.run(many, range(ranks.size * 30000, ranks.size * 30000 + 600 // ranks.size)):
        assert wrong == []


def twice(here: Here) -> bool:
    """The gradient of a gradient."""
    generator = torch.Generator().manual_seed(3)
    a, b, g = (torch.randn(7, 7, generator=generator, dtype=torch.float64) for _ in range(3))

    def second(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, product: object) -> torch.Tensor:
        x.requires_grad_()
        y.requires_grad_()
        (first,) = torch.autograd.grad(product(x, y), x, z, create_graph=True)
        (found,) = torch.autograd.grad(first, y, x.detach())
        return found

    expected = second(a.clone(), b.clone(), g, ozfp4.matmul)
    mine = [part(x, "rows", here.rank, here.size).to(here.device).clone() for x in (a, b, g)]
    found = second(*mine, lambda x, y: ozfp4.distributed.matmul(x, y, layout=("rows", "rows")))
    return equal(found.cpu(), part(expected, "rows", here.rank, here.size))


def test_gradients_of_gradients(ranks: Ranks) -> None:
    assert all(ranks.run(twice))
