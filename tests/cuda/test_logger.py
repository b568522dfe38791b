"""The line of a product on a GPU: with its device and its time, which is waited for; a captured product has none."""

from __future__ import annotations

import logging
import re

import numpy as np
from first_gpu import DEVICE, on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits

A, B = np.random.default_rng(1).standard_normal((2, 300, 300))


def test_a_line_of_each_product_and_of_one_like_it(caplog):
    a, b = on_device(A), on_device(B)
    expected = ozfp4.matmul(a, b)
    ozfp4.matmul(a, b)
    with caplog.at_level(logging.DEBUG, "ozfp4"):
        for product in (ozfp4.matmul, lambda x, y: ozfp4.gemm(1, x, y), lambda x, y: ozfp4.enclose(x, y)[0]):
            product(a, b)
            assert_same_bits(ozfp4.matmul(a, b).cpu(), expected.cpu())
    assert len(caplog.messages) == 6
    for line in caplog.messages:
        assert re.match(
            rf"product 300 × 300 × 300 float64 \w+: planned: scheme .*, {DEVICE}: \d+\.\d{{3}} ms \(", line
        ), line


def test_integers(caplog):
    n = on_device(np.arange(12).reshape(3, 4))
    with caplog.at_level(logging.DEBUG, "ozfp4"):
        ozfp4.matmul(n, n.T)
        ozfp4.matmul_mod(n, n.T, 7)
        ozfp4.int8_matmul(n.to(torch.int8), n.T.to(torch.int8))
        ozfp4.matmul(n[:, :0], n.T[:0])
        ozfp4.gemm(2, n, n.T, 1, n[:, :3])
        ozfp4.gram(n)
    assert [line.partition(":")[0] for line in caplog.messages] == [
        "product 3 × 3 × 4 int64 exact",
        "product 3 × 3 × 4 int64 exact",
        "product 3 × 3 × 4 int32 exact",
        "product 3 × 3 × 0 int64 exact",
        "update 3 × 3 × 4 int64 exact",
        "product 4 × 4 × 3 int64 exact",
    ]


def test_a_captured_product_is_not_waited_for(caplog):
    a, b = on_device(A), on_device(B)
    expected = ozfp4.matmul(a, b)
    graph = torch.cuda.CUDAGraph()
    with caplog.at_level(logging.DEBUG, "ozfp4"), torch.cuda.graph(graph):
        c = ozfp4.matmul(a, b)
    graph.replay()
    assert_same_bits(c.cpu(), expected.cpu())
    (line,) = caplog.messages
    assert re.search(r": captured \(", line), line
