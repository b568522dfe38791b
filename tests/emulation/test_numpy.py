"""Products of NumPy within ``ozfp4.emulate``: bits of ozfp4's own, and NumPy as it was for everybody else."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

NAMES = ("matmul", "dot", "vdot", "inner", "tensordot", "einsum")
ORIGINALS = {name: getattr(np, name) for name in NAMES}


def entries(*shape: int) -> np.ndarray:
    return np.exp(3 * np.random.default_rng(sum(shape)).standard_normal(shape))


def complexes(*shape: int) -> np.ndarray:
    return entries(*shape) + 1j * entries(*shape)[::-1]


A, B, V, T, S = entries(7, 31), entries(31, 5), entries(31), entries(3, 7, 31), entries(3, 31, 5)
# NumPy's call, ozfp4's, multiplications.
CALLS: dict[str, tuple[Callable[[], Any], Callable[[], Any], int]] = {
    "matmul": (lambda: np.matmul(A, B), lambda: ozfp4.matmul(A, B), 7 * 31 * 5),
    "matmul of stacks": (lambda: np.matmul(T, S[:1]), lambda: ozfp4.matmul(T, S[:1]), 3 * 7 * 31 * 5),
    "matmul of a vector": (lambda: np.matmul(T, V), lambda: ozfp4.matmul(T, V), 3 * 7 * 31),
    "matmul of vectors": (lambda: np.matmul(V, V), lambda: ozfp4.matmul(V, V), 31),
    "matmul of nothing": (lambda: np.matmul(A[:, :0], B[:0]), lambda: np.zeros((7, 5)), 0),
    "matmul of a list": (lambda: np.matmul(A, V.tolist()), lambda: ozfp4.matmul(A, V), 7 * 31),
    "matmul of two kinds": (
        lambda: np.matmul(A.astype(np.float32), B),
        lambda: ozfp4.matmul(A.astype(np.float32), B),
        7 * 31 * 5,
    ),
    "dot": (lambda: np.dot(A, B), lambda: ozfp4.matmul(A, B), 7 * 31 * 5),
    "dot of stacks": (lambda: np.dot(T, S), lambda: ozfp4.tensordot(T, S, (-1, -2)), 3 * 7 * 31 * 3 * 5),
    "dot with a vector": (lambda: np.dot(T, V), lambda: ozfp4.matmul(T, V), 3 * 7 * 31),
    "vdot": (
        lambda: np.vdot(complexes(6, 5), complexes(5, 6)),
        lambda: ozfp4.matmul(complexes(6, 5).conj().ravel(), complexes(5, 6).ravel()),
        30,
    ),
    "inner": (lambda: np.inner(T, A), lambda: ozfp4.tensordot(T, A, (-1, -1)), 3 * 7 * 7 * 31),
    "inner of vectors": (lambda: np.inner(V, V), lambda: ozfp4.matmul(V, V), 31),
    "tensordot": (lambda: np.tensordot(T, S, ([0, 2], [0, 1])), lambda: ozfp4.tensordot(T, S, ([0, 2], [0, 1])), 7 * 5 * 93),
    "tensordot by a number": (lambda: np.tensordot(A, B, 1), lambda: ozfp4.matmul(A, B), 7 * 31 * 5),
    "einsum": (lambda: np.einsum("bij,bjk->ik", T, S), lambda: ozfp4.einsum("bij,bjk->ik", T, S), 7 * 5 * 93),
    "einsum by lists": (lambda: np.einsum(A, [0, 1], B, [1, 2], [2, 0]), lambda: ozfp4.einsum("ij,jk->ki", A, B), 7 * 31 * 5),
    "einsum of stacks": (lambda: np.einsum("...ij,...jk", T, S), lambda: ozfp4.matmul(T, S), 3 * 7 * 31 * 5),
    "einsum of three": (
        lambda: np.einsum("ij,jk,k->i", A, B, V[:5]),
        lambda: ozfp4.einsum("ij,jk,k->i", A, B, V[:5]),
        7 * 31 * 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_emulated_functions_have_the_bits_of_ozfp4(name: str) -> None:
    call, ours, size = CALLS[name]
    plain, expected = call(), ours()
    with ozfp4.emulate(mode="always") as scope:
        found = call()
    assert type(found) is type(plain)
    assert_same_bits(np.asarray(found), np.asarray(expected))
    np.testing.assert_allclose(found, plain, rtol=1e-12)
    (row,) = scope.summary.rows
    assert (row.operation, row.calls, row.taken) == (f"np.{name.split()[0]}", 1, True)
    assert row.problem.size == size


def test_what_numpy_linalg_makes_of_them() -> None:
    square = entries(6, 6)
    c = entries(5, 9)
    with ozfp4.emulate(mode="always") as scope:
        chain = np.linalg.multi_dot([A, B, c])
        power = np.linalg.matrix_power(square, 3)
    assert_same_bits(chain, ozfp4.matmul(ozfp4.matmul(A, B), c))
    assert_same_bits(power, ozfp4.matmul(ozfp4.matmul(square, square), square))
    assert scope.summary.caught == 4


def test_out_of_numpys_functions() -> None:
    expected = ozfp4.matmul(A, B)
    for function in (np.matmul, np.dot):
        out = np.full((7, 5), -7.25)
        with ozfp4.emulate(mode="always") as scope:
            assert getattr(np, function.__name__)(A, B, out=out) is out
        assert_same_bits(out, expected)
        assert scope.summary.caught == 1
    square = entries(6, 6)
    expected = ozfp4.matmul(square, square)
    with ozfp4.emulate(mode="always"):
        np.matmul(square, square, square)  # which NumPy allows
    assert_same_bits(square, expected)
    out = np.full((7, 5), -7.25)
    with ozfp4.emulate(mode="always"):
        np.einsum("ij,jk", A, B, out=out)
    assert_same_bits(out, ozfp4.matmul(A, B))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_unsupported_calls_go_to_numpy() -> None:
    masked, table = np.ma.masked_array(A), np.asmatrix(A)
    objects, halves = A.astype(object), np.ones((3, 4), np.float16)
    calls: list[Callable[[], Any]] = [
        lambda: np.dot(table, B),
        lambda: np.dot(masked, B),
        lambda: np.matmul(objects, objects.T),
        lambda: np.matmul(halves, halves.T),
        lambda: np.matmul(A, B, dtype=np.complex128),
        lambda: np.matmul(A, B, axes=[(0, 1), (0, 1), (0, 1)]),
        lambda: np.dot(2.0, A),
        lambda: np.einsum("ij->ji", A),
        lambda: np.einsum("ij,kl->ijkl", A[:2], B[:2]),
        lambda: np.tensordot(A[0], B[0], 0),
    ]
    for call in calls:
        plain = call()
        with ozfp4.emulate(mode="always") as scope:
            found = call()
        assert type(found) is type(plain)
        np.testing.assert_array_equal(np.asarray(found, complex), np.asarray(plain, complex))
        assert scope.summary.rows == ()


def test_errors_are_numpys_own() -> None:
    calls: list[Callable[[], Any]] = [
        lambda: np.matmul(A, A),
        lambda: np.dot(A, A),
        lambda: np.inner(A, V[:3]),
        lambda: np.vdot(A, B),
        lambda: np.tensordot(A, A, 1),
        lambda: np.tensordot(A, B, ([5], [0])),
        lambda: np.einsum("ij,jk", A, A),
        lambda: np.einsum("ij,j?", A, B),
        lambda: np.matmul(A),
        lambda: np.matmul(A, B, nonsense=1),
        lambda: np.dot(A, B, out=np.zeros((2, 2))),
        lambda: np.matmul(A, B, out=np.zeros((2, 2))),
        lambda: np.matmul(A, 2.0),
    ]
    for call in calls:
        with pytest.raises((ValueError, TypeError, IndexError)) as plain:
            call()
        with ozfp4.emulate(mode="always"), pytest.raises(plain.type) as scoped:
            call()
        assert str(scoped.value) == str(plain.value)


def test_integers() -> None:
    n = np.arange(12).reshape(3, 4) * 2**59
    expected = ozfp4.matmul(n, n.T)
    with ozfp4.emulate(dtypes=["int64"], mode="always") as scope:
        assert_same_bits(np.matmul(n, n.T), expected)
        np.matmul(A, B)
    assert [(row.problem.dtype, row.taken, row.reason) for row in scope.summary.rows] == [
        ("int64", True, "always"),
        ("float64", False, "float64 is not asked for"),
    ]


# ---- Who is in the scope


def check_restored() -> None:
    assert {name: getattr(np, name) for name in NAMES} == ORIGINALS
    assert all(getattr(np, name) is ORIGINALS[name] for name in NAMES)
    linalg = np.linalg.multi_dot.__wrapped__.__globals__
    assert linalg["dot"] is ORIGINALS["dot"]


def test_names_are_restored() -> None:
    with ozfp4.emulate():
        assert np.matmul is not ORIGINALS["matmul"]
        with ozfp4.emulate(mode="always"):
            pass
        assert np.matmul is not ORIGINALS["matmul"]
    check_restored()
    with pytest.raises(KeyError), ozfp4.emulate(mode="always"):
        raise KeyError
    check_restored()


def test_names_set_by_others_stay() -> None:
    def mine() -> None:
        pass

    try:
        with ozfp4.emulate():
            np.dot = mine  # type: ignore[assignment]
        assert np.dot is mine
    finally:
        np.dot = ORIGINALS["dot"]
    check_restored()


def test_the_innermost_scope_counts() -> None:
    with ozfp4.emulate(mode="always") as outer, ozfp4.emulate(mode="always", accuracy="correct") as inner:
        found = np.matmul(A, B)
    assert_same_bits(found, ozfp4.matmul(A, B, accuracy="correct"))
    assert (outer.summary.rows, inner.summary.caught) == ((), 1)
    with ozfp4.emulate(mode="always") as outer, ozfp4.emulate(min_size=10**6, mode="always"):
        np.matmul(A, B)
    assert outer.summary.rows == ()


def test_other_threads_are_not_in_the_scope() -> None:
    entered, done = threading.Event(), threading.Event()
    found = {}

    def other() -> None:
        entered.wait(60)
        found["inside"] = np.matmul(A, B)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    plain = np.matmul(A, B)
    with ozfp4.emulate(mode="always") as scope:
        entered.set()
        assert done.wait(60)
        thread.join()
        np.matmul(A, B)
    assert_same_bits(found["inside"], plain)
    assert scope.summary.caught == 1


def test_many_threads_with_scopes_of_their_own() -> None:
    expected, wrong = ozfp4.matmul(A, B), []

    def work() -> None:
        for _ in range(50):
            with ozfp4.emulate(mode="always") as scope:
                if not (np.matmul(A, B) == expected).all() or scope.summary.caught != 1:
                    wrong.append(scope)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    check_restored()


def test_vdot_of_truth_values() -> None:
    a, b = np.array([True, True, False]), np.array([True, True, True])
    for x, y in ((a, b), (a, a.astype(np.int8)), (a, V[:3])):
        plain = np.vdot(x, y)
        with ozfp4.emulate(dtypes=["bool", "integers", "float64"], mode="always") as scope:
            found = np.vdot(x, y)
        assert (found, np.asarray(found).dtype) == (plain, plain.dtype)
        assert scope.summary.caught == 1


def test_the_operator_and_methods_are_not_reached() -> None:
    with ozfp4.emulate(mode="always") as scope:
        A @ B
        A.dot(B)
        ORIGINALS["matmul"](A, B)
    assert scope.summary.rows == ()


def test_our_own_functions_are_as_outside() -> None:
    a = entries(8, 8) + 8 * np.eye(8)
    (plain, about), products = ozfp4.linalg.solve(a, a[0], refine=True, report=True), ozfp4.matmul(a, a)
    with ozfp4.emulate(mode="always", accuracy="correct") as scope:
        again, about_again = ozfp4.linalg.solve(a, a[0], refine=True, report=True)
        assert_same_bits(again, plain)
        assert about_again == about
        assert_same_bits(ozfp4.matmul(a, a), products)
    assert scope.summary.rows == ()


def test_the_names_keep_their_attributes() -> None:
    with ozfp4.emulate(mode="always"):
        assert np.matmul.signature == ORIGINALS["matmul"].signature
        assert np.dot.__name__ == "dot"
        assert np.dot.__doc__ == ORIGINALS["dot"].__doc__
        assert repr(np.matmul) == repr(ORIGINALS["matmul"])
        assert pickle.loads(pickle.dumps(np.dot)) is np.dot
        kept = pickle.dumps(np.dot)
        emulated = np.dot
    assert pickle.loads(kept) is np.dot
    assert_same_bits(emulated(A, B), np.dot(A, B))  # out of the scope it is NumPy's
