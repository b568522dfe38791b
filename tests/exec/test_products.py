"""What is caught has the bits of ozfp4.gemm, whatever name it was called by; what is not goes to the real routine."""

from __future__ import annotations

from pathlib import Path

from preloaded import python, reported, rows

EVERY = "float32,float64,complex64,complex128"

FORTRAN = """
names = [("scipy_%sgemm_", c_int32), ("scipy_%sgemm_64_", c_int64)]
ops = {b"N": lambda x: x, b"t": lambda x: x.T, b"C": lambda x: x.conj().T}
calls = 0
for letter, dtype in zip("sdcz", (np.float32, np.float64, np.complex64, np.complex128)):
    for pattern, integer in names:
        for ta in ops:
            for tb in ops:
                m, n, k = (int(x) for x in rng.integers(1, 24, 3))
                for alpha, beta in ((1, 0), (-0.75, 1), (2.5, 0.3125)) + (((1j, 0.5 - 1j),) if letter in "cz" else ()):
                    sizes = ((m, k) if ta == b"N" else (k, m)), ((k, n) if tb == b"N" else (n, k)), (m, n)
                    wide = [noise((rows + 3, columns), dtype).T.copy().T for rows, columns in sizes]
                    a, b, c = (x[:rows] for x, (rows, _) in zip(wide, sizes))
                    for x, (rows, columns) in zip((a, b), sizes):
                        x[:] = numbers((rows, columns), dtype)
                    if beta:
                        c[:] = numbers((m, n), dtype)
                    else:
                        c[:] = np.nan
                    right = ozfp4.gemm(alpha, ops[ta](a).copy(), ops[tb](b).copy(), beta, c.copy() if beta else None)
                    behind = wide[2][m:].copy()
                    lead = [x.strides[1] // x.itemsize for x in wide]
                    fortran(pattern % letter, ta, tb, m, n, k, alpha, wide[0], lead[0], wide[1], lead[1], beta, wide[2], lead[2],
                            integer)
                    same(np.ascontiguousarray(c), right)
                    same(np.ascontiguousarray(behind), wide[2][m:].copy())
                    calls += 1
print(calls)
"""


def test_names_of_fortran(tmp_path: Path) -> None:
    done = reported(FORTRAN, tmp_path / "report", mode="always", dtypes=EVERY, verify=20)
    # 2 names, 9 transposes; 3 pairs of factors, and 4 of complex types. Plane products of ozfp4 itself are not among them.
    assert (done["caught"], done["left"]) == (2 * 9 * (2 * 3 + 2 * 4), 0)
    assert done["verified"]["wrong"] == 0
    assert done["verified"]["products"] >= 20


CBLAS = """
ops = {111: lambda x: x, 112: lambda x: x.T, 113: lambda x: x.conj().T}
for letter, dtype in zip("sdcz", (np.float32, np.float64, np.complex64, np.complex128)):
    scalar_type = {"s": ctypes.c_float, "d": c_double}.get(letter)
    function = getattr(process, f"scipy_cblas_{letter}gemm64_")
    for order in (101, 102):
        for ta in ops:
            for tb in ops:
                m, n, k = (int(x) for x in rng.integers(1, 24, 3))
                a, b = (numbers(x, dtype) for x in ((m, k) if ta == 111 else (k, m), (k, n) if tb == 111 else (n, k)))
                c = numbers((m, n), dtype)
                right = ozfp4.gemm(-1.5, ops[ta](a), ops[tb](b), 0.25, c.copy())
                if order == 102:
                    a, b, c = (np.asfortranarray(x) for x in (a, b, c))
                lead = [c_int64(max(x.strides) // x.itemsize if min(x.shape) > 1 else x.shape[order == 101]) for x in (a, b, c)]
                kept = [np.array([x], dtype) for x in (-1.5, 0.25)]
                alpha, beta = (scalar_type(x[0]) if scalar_type else address(x) for x in kept)
                function(order, ta, tb, c_int64(m), c_int64(n), c_int64(k), alpha, address(a), lead[0], address(b), lead[1], beta,
                         address(c), lead[2])
                same(np.ascontiguousarray(c), right)
"""


def test_names_of_cblas(tmp_path: Path) -> None:
    done = reported(CBLAS, tmp_path / "report", mode="always", dtypes=EVERY)
    assert (done["caught"], done["left"]) == (4 * 2 * 9, 0)
    assert {row["routine"] for row in done["rows"]} == {f"scipy_cblas_{letter}gemm64_" for letter in "sdcz"}


NUMPY = """
a, b = numbers((70, 50), float, 400), numbers((50, 60), float, 400)
a[3, 4], b[7, 8] = np.nan, np.inf
with np.errstate(all="raise", invalid="ignore"):
    same(a @ b, ozfp4.matmul(a, b))
    z = numbers((20, 30), complex)
    same(z @ z.T.conj().copy(), ozfp4.matmul(z, z.T.conj().copy()))
    same(scipy.linalg.blas.dgemm(0.5, a, b), ozfp4.gemm(0.5, a, b))
    stack = numbers((5, 8, 9), float)
    same(stack @ stack.transpose(0, 2, 1).copy(), ozfp4.matmul(stack, stack.transpose(0, 2, 1).copy()))
    assert (a[:0] @ b).shape == (0, 60) and not np.any(a[:, :0] @ b[:0])
    assert not np.isfinite((1e200 * z) @ (1e200 * z.T).copy()).any()  # no flag is raised
"""


def test_what_numpy_and_scipy_call(tmp_path: Path) -> None:
    done = reported(NUMPY, tmp_path / "report", mode="always")
    assert done["left"] == 0
    assert {(row["routine"], row["calls"]) for row in done["rows"]} >= {
        ("scipy_cblas_dgemm64_", 5), ("scipy_dgemm_", 1), ("scipy_cblas_zgemm64_", 2),
    }  # fmt: skip


CANCELLING = """
for dtype in (np.complex64, np.complex128):
    zgemm = scipy.linalg.blas.get_blas_funcs("gemm", dtype=dtype)
    for turn in range(5):
        a, b = numbers((6, 9), dtype), numbers((9, 5), dtype)
        alpha, beta = 1 - 2j, 1 + 0.5j
        c = (-alpha / beta * ozfp4.matmul(a, b)).astype(dtype)
        zgemm(alpha, a, b, beta, c)
"""


def test_factors_with_both_parts_where_nearly_all_cancels(tmp_path: Path) -> None:
    for accuracy in ("scaled", "standard", "correct"):
        done = reported(
            CANCELLING, tmp_path / "report", mode="always", accuracy=accuracy, dtypes=EVERY, verify=100
        )
        assert done["verified"]["products"] == 10
        assert (done["verified"]["wrong"], done["verified"]["not_finite"]) == (0, 0), accuracy


LEFT = """
a, b, c = numbers((8, 6), float), numbers((6, 5), float), numbers((8, 5), float).T.copy().T
def call(alpha=1.0, beta=0.0, k=6, lda=8, ta=b"N"):
    fortran("scipy_dgemm_", ta, b"N", 8, 5, k, alpha, a, lda, b, 6, beta, c, 8)
call(np.inf), call(beta=np.nan), call(0.0, 1.0), call(k=0), call(lda=3), call(ta=b"X")
a.astype("f") @ b.astype("f")
libm = ctypes.CDLL("libm.so.6")
up = {"x86_64": 0x800, "aarch64": 0x400000}[os.uname().machine]
assert libm.fesetround(up) == 0
call()
libm.fesetround(0)
a[:2, :2] @ b[:2, :2]
call()
"""


def test_what_is_left_and_why(tmp_path: Path) -> None:
    done = reported(LEFT, tmp_path / "report", mode="always", min_size=50)
    found = {(row[0], *row[4:]) for row in rows(done)}
    assert found == {
        ("scipy_dgemm_", True, 1, "always"),
        ("scipy_dgemm_", False, 2, "alpha or beta is not finite"),
        ("scipy_dgemm_", False, 1, "nothing to multiply"),
        ("scipy_dgemm_", False, 2, "arguments that BLAS refuses, or that this BLAS alone knows"),
        ("scipy_dgemm_", False, 1, "the program rounds otherwise than to nearest"),
        ("scipy_cblas_sgemm64_", False, 1, "its dtype is not asked for"),
        ("scipy_cblas_dgemm64_", False, 1, "below the least size"),
    }
    assert done["caught"] == 1


def test_ozfp4s_own_products_are_none_of_the_programs() -> None:
    program = """
x = numbers((300, 300), float)
for backend in ("fp64", "int8", "fp4"): ozfp4.matmul(x, x, backend=backend)
print("end")
"""
    done = python(program, mode="always", summary=1)
    assert (done.stdout, done.stderr) == ("end\n", "")  # a process without calls says nothing


NAMED = """
a, z = numbers((9, 9), float), numbers((9, 9), complex)
a @ a, z @ z, scipy.linalg.blas.dgemm(1, a, a)
"""


def test_routines_and_libraries_that_are_named_or_spared(tmp_path: Path) -> None:
    numpys, scipys, zs = "scipy_cblas_dgemm64_", "scipy_dgemm_", "scipy_cblas_zgemm64_"
    for asked, caught in (
        ({"only": "dgemm"}, {numpys, scipys}),
        ({"only": "zgemm,scipy_dgemm_"}, {zs, scipys}),
        ({"spare": "?gemm"}, set()),
        ({"spare": "_multiarray_umath*"}, {scipys}),  # which calls
        ({"only": "_multiarray_umath*", "spare": "zgemm"}, {numpys}),
        ({"only": "libscipy_openblas*"}, {numpys, scipys, zs}),  # which has the routines
    ):
        done = reported(NAMED, tmp_path / "report", mode="always", **asked)
        assert {row["routine"] for row in done["rows"] if row["caught"]} == caught, asked
        left = {row["why"] for row in done["rows"] if not row["caught"]}
        assert left == ({"its routine or library is spared"} if len(caught) < 3 else set())


def test_letters_name_dtypes(tmp_path: Path) -> None:
    for dtypes, expected in (
        ("s,z", ["float32", "complex128"]),
        ("all", EVERY.split(",")),
        ("d", ["float64"]),
    ):
        assert reported(NAMED, tmp_path / "report", dtypes=dtypes)["dtypes"] == expected


CONJUGATED = """
a = np.asfortranarray(numbers((5, 5), complex))
c = np.zeros_like(a)
fortran("scipy_zgemm_", b"R", b"N", 5, 5, 5, 1, a, 5, a, 5, 0, c, 5)
np.testing.assert_allclose(c, np.einsum("ij,jk", a.conj(), a))
"""


def test_what_openblas_alone_has(tmp_path: Path) -> None:
    found = rows(reported(CONJUGATED, tmp_path / "report", mode="always"))
    text = "a matrix that is conjugated and not transposed, as OpenBLAS alone has it"
    assert [row[4:] for row in found if row[0] == "scipy_zgemm_"] == [(False, 1, text)]


PAYLOADS = """
quiet = {4: 0x7fc00000, 8: 0x7ff8000000000000}
def bits(x):
    size = x.real.dtype.itemsize
    parts = np.ascontiguousarray(x).view(x.real.dtype).view(f"u{size}")
    return parts.reshape(*x.shape, -1)

def mark(x, row, column, payload, part=-1):  # a signalling NaN, as R's NA is
    size = x.real.dtype.itemsize
    words = bits(x)
    words[row, column, part] = {4: 0x7f800000, 8: 0x7ff0000000000000}[size] + payload
    return words.reshape(len(x), -1).view(x.real.dtype).view(x.dtype)

turns = {b"N": lambda x: x, b"T": lambda x: x.T, b"C": lambda x: x.conj().T}
for letter, dtype in zip("sdcz", (np.float32, np.float64, np.complex64, np.complex128)):
    for m, k, n in ((7, 6, 5), (70, 60, 50)):
        for ta in turns:
            for tb in turns:
                for beta in (0, 0.5):
                    a, b, before = numbers((m, k), dtype), numbers((k, n), dtype), numbers((m, n), dtype)
                    a = mark(mark(a, 2, 3, 1954), 2, 5, 101)
                    b = mark(mark(mark(b, 1, 4, 200), 3, 0, 300, 0), 5, 1, 301)
                    before = mark(mark(before, 0, 2, 400), 2, 2, 401)
                    b[2, 3] = np.inf
                    x, y, c = (np.asfortranarray(z) for z in (turns[ta](a), turns[tb](b), before))
                    fortran(f"scipy_{letter}gemm_", ta, tb, m, n, k, 2, x, len(x), y, len(y), beta, c, m)
                    found = bits(c) & ~np.array(1 << 8 * c.real.dtype.itemsize - 1, f"u{c.real.dtype.itemsize}")
                    expected = np.zeros((m, n), int)  # payloads, of what has any
                    expected[:, 4], expected[:, 0], expected[:, 1] = 200, 300, 301
                    expected[2] = [1954, 1954, 1954, 1954, 200] + [1954] * (n - 5)
                    if beta: expected[0, 2] = 400
                    for i, j in zip(*expected.nonzero()):
                        words = set(found[i, j].tolist())
                        assert quiet[c.real.dtype.itemsize] + expected[i, j] in words, (letter, ta, tb, beta, i, j, found[i, j])
                        if (i, j) != (0, 2): assert len(words) == 1
                    assert np.isnan(c[expected != 0]).all()
                    assert not np.isnan(c[expected == 0].real)[1:].all()
"""


def test_payloads_of_nans_are_kept(tmp_path: Path) -> None:
    done = reported(PAYLOADS, tmp_path / "report", mode="always", dtypes=EVERY)
    assert (done["caught"], done["left"]) == (4 * 2 * 9 * 2, 0)


TRIANGLE_OF_NANS = """
a = np.asfortranarray(numbers((300, 40), float))
a.view(np.uint64)[299, 7] = 0x7ff00000000007a2
a.view(np.uint64)[280, 5] = 0x7ff00000000007a3
c = np.zeros((300, 300), order="F")
rank_k("scipy_dsyrk_", b"L", b"N", 300, 40, 1, a, 300, 0, c, 300)
found = c.view(np.uint64)
assert (found[299, :280] == 0x7ff80000000007a2).all()
assert (found[280:299, 280] == 0x7ff80000000007a3).all()
assert (found[299, 280:] == [0x7ff80000000007a3] + [0x7ff80000000007a2] * 19).all()
assert (c[np.triu_indices(300, 1)] == 0).all()
"""


def test_payloads_of_nans_in_a_triangle(tmp_path: Path) -> None:
    done = reported(TRIANGLE_OF_NANS, tmp_path / "report", mode="always")
    assert (done["caught"], done["left"]) == (1, 0)
