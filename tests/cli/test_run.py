"""``ozfp4 run``: every file format, every option, every refusal; on failure no file has changed."""

from __future__ import annotations

import errno
import gzip
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmread, mmwrite
from scipy.sparse import random as random_sparse

import ozfp4
from ozfp4.cli import devices, main
from ozfp4.testing import assert_same_bits, correct_matmul, exact_matmul, standard_matmul
from ozfp4.trust import guard

A, B = (np.random.default_rng(7).standard_normal(shape) * 1e3 for shape in ((5, 7), (7, 4)))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What `ozfp4 run` writes by default."""
    return standard_matmul(a, b)[0]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch, no_int8_unit: None) -> None:
    """Nor an INT8 unit of the CPU, whatever this machine has."""
    monkeypatch.setattr(devices, "gpus", list)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with A and B in every format, and things that are no matrices."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    np.save("b.npy", B)
    np.save("a32.npy", A.astype(np.float32))
    np.save("b32.npy", B.astype(np.float32))
    np.save("int.npy", np.ones((7, 4), np.int64))
    np.save("complex.npy", np.ones((7, 4), complex))
    np.save("vector.npy", np.ones(7))
    np.save("number.npy", np.float64(3.0))
    np.save("stack.npy", np.stack([A, 2 * A]))
    np.save("empty.npy", np.zeros((7, 0)))
    np.save("objects.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
    np.savez("ab.npz", A=A, B=B)
    np.savez("one.npz", B=B)
    np.savez("none.npz")
    for name, x in (("a", A), ("b", B)):
        mmwrite(f"{name}.mtx", x, precision=17, symmetry="general")
        Path(f"{name}.mtx.gz").write_bytes(gzip.compress(Path(f"{name}.mtx").read_bytes()))
    Path("text.npy").write_text("not a matrix", encoding="utf-8")
    Path("text.npz").write_text("not an archive", encoding="utf-8")
    Path("text.mtx").write_text("not a matrix", encoding="utf-8")
    Path("text.mtx.gz").write_text("not packed", encoding="utf-8")
    Path("renamed.npz").write_bytes(Path("a.npy").read_bytes())
    Path("short.npy").write_bytes(Path("a.npy").read_bytes()[:-9])
    Path("short.npz").write_bytes(Path("ab.npz").read_bytes()[:200])
    Path("short.mtx").write_bytes(Path("a.mtx").read_bytes()[:-80])
    Path("short.mtx.gz").write_bytes(Path("a.mtx.gz").read_bytes()[:-20])
    Path("huge.mtx").write_text("%%MatrixMarket matrix array real general\n9000000 9000000\n1\n")
    Path("folder.npy").mkdir()
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refuse(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """The command fails with status 2 and one line, and no file has changed, appeared or gone."""
    before = contents(folder)
    try:
        status = main(["run", *arguments])
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    assert re.fullmatch(rf"ozfp4 run: {message}\n", capsys.readouterr().err)
    assert contents(folder) == before


# ---- What works -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("a", ["a.npy", "ab.npz:A", "ab.npz:A.npy", "a.mtx", "a.mtx.gz"])
@pytest.mark.parametrize("b", ["b.npy", "ab.npz:B", "one.npz", "b.mtx", "b.mtx.gz"])
def test_input_formats(a: str, b: str) -> None:
    assert main(["run", a, b, "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(A, B))


READERS: dict[str, Callable[[], np.ndarray]] = {
    "c.npy": lambda: np.load("c.npy"),
    "c.npz:product": lambda: np.load("c.npz")["product"],
    "c.npz:product.npy": lambda: np.load("c.npz")["product"],
    "c.mtx": lambda: mmread("c.mtx"),
    "c.mtx.gz": lambda: mmread("c.mtx.gz"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("output", READERS)
def test_output_formats(output: str, existing: bool) -> None:
    if existing:
        assert main(["run", "b.npy", "a.npy", "-o", output, "--transpose-a", "--transpose-b"]) == 0
    assert main(["run", "a.npy", "b.npy", "-o", output]) == 0
    assert_same_bits(READERS[output](), product(A, B))
    assert not list(Path().glob(".*"))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "backend", "products"),
    [
        ([], "fp64", None),
        (["--backend", "fp4"], "fp4", None),
        (["--backend", "fp4", "--family", "paper"], "fp4", 75),
        (["--family", "paper-karatsuba"], "fp4", 68),
        (["--backend", "int8"], "int8", None),
        (["--scheme", "I"], "fp64", 9),
        (["--scheme", "I", "--backend", "fp4"], "fp4", 225),
        (["--scheme", "I", "--backend", "int8"], "int8", 49),
        (["--workspace", "64K"], "fp64", None),
    ],
)
def test_options_change_the_way_and_not_the_bits(
    options: list[str], backend: str, products: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy", "--accuracy", "scaled", *options]) == 0
    assert_same_bits(np.load("c.npy"), exact_matmul(A, B))
    text = capsys.readouterr().out
    assert re.search(rf"^plan +scheme I+, {backend}, ", text, re.MULTILINE)
    if products is not None:
        assert re.search(rf"^products +{products}\b", text, re.MULTILINE)


@pytest.mark.usefixtures("folder")
def test_accuracy_and_rounding(capsys: pytest.CaptureFixture[str]) -> None:
    for rounding in ("nearest", "down", "up", "zero"):
        options = ["--accuracy", "correct", "--rounding", rounding]
        assert main(["run", "a.npy", "b.npy", "-o", "c.npy", *options]) == 0
        assert_same_bits(np.load("c.npy"), correct_matmul(A, B, rounding))
    assert "accuracy" in capsys.readouterr().out
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy", "--accuracy", "standard", "--rounding", "up"]) == 2
    assert "--rounding: 'up' needs accuracy='correct'" in capsys.readouterr().err
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy", "--accuracy", "standard", "--bits", "60"]) == 2
    assert (
        "--bits: 60 is for products of floating-point numbers with accuracy='scaled'"
        in capsys.readouterr().err
    )


@pytest.mark.usefixtures("folder")
def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "b.npy", "ab.npz:A", "--transpose-a", "--transpose-b", "-o", "c.npz:X"]) == 0
    text = capsys.readouterr().out
    for line in (
        r"A +4 × 7 float64, b\.npy, transposed",
        r"B +7 × 5 float64, ab\.npz:A, transposed",
        r"plan +scheme II, fp64, family least, 57 bits",
        r"ran +scheme II, fp64 .* on cpu .*",
        r"chosen +least products / rate: .*",
        r"C +4 × 5 float64, c\.npz:X",
        *(
            rf"{stage} +[0-9.]+ ms"
            for stage in ("read", "scale", "encode", "multiply", "reconstruct", "repair", "write")
        ),
    ):
        assert re.search(rf"^{line}$", text, re.MULTILINE), line


@pytest.mark.usefixtures("folder")
def test_transposes() -> None:
    assert main(["run", "b.npy", "a.npy", "--transpose-a", "--transpose-b", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(B.T, A.T))
    assert main(["run", "a.npy", "a.npy", "--transpose-b", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(A, A.T))
    assert main(["run", "a.npy", "a.npy", "--transpose-a", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(A.T, A))


@pytest.mark.usefixtures("folder")
def test_bits() -> None:
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy", "--accuracy", "scaled", "--bits", "20"]) == 0
    assert_same_bits(np.load("c.npy"), exact_matmul(A, B, 20))


@pytest.mark.usefixtures("folder")
def test_single_precision(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = A.astype(np.float32), B.astype(np.float32)
    assert main(["run", "a32.npy", "b32.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(a, b))
    assert ", 28 bits" in capsys.readouterr().out
    assert main(["run", "a32.npy", "b.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(a, B))
    assert ", 57 bits" in capsys.readouterr().out
    assert main(["run", "a32.npy", "b32.npy", "-o", "c.mtx"]) == 0
    assert_same_bits(mmread("c.mtx"), product(a, b).astype(np.float64))


@pytest.mark.usefixtures("folder")
def test_stacks_vectors_and_empty_matrices() -> None:
    assert main(["run", "stack.npy", "b.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(np.stack([A, 2 * A]), B))
    assert main(["run", "vector.npy", "b.npy", "-o", "c.npz:C"]) == 0
    assert_same_bits(np.load("c.npz")["C"], product(np.ones(7), B))
    assert main(["run", "vector.npy", "vector.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), np.array(7.0))
    assert main(["run", "a.npy", "empty.npy", "-o", "c.mtx"]) == 0
    assert main(["run", "a.npy", "c.mtx", "--transpose-a", "-o", "c.npy"]) == 0
    assert np.load("c.npy").shape == (7, 0)
    assert main(["run", "empty.npy", "b.npy", "--transpose-a", "-o", "c.mtx"]) == 0  # no rows
    assert main(["run", "b.npy", "c.mtx", "--transpose-b", "-o", "d.npy"]) == 0
    assert np.load("d.npy").shape == (7, 0)


@pytest.mark.usefixtures("folder")
def test_sparse_and_other_matrix_market_files() -> None:
    sparse = random_sparse(6, 5, 0.4, random_state=3)
    mmwrite("sparse.mtx", sparse, precision=17)
    assert main(["run", "sparse.mtx", "a.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(sparse.toarray(), A))
    Path("integers.mtx").write_text(
        "%%MatrixMarket matrix array integer general\n1 5\n1\n-2\n3\n0\n9007199254740992\n"
    )
    assert main(["run", "integers.mtx", "a.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(np.array([[1.0, -2.0, 3.0, 0.0, 2.0**53]]), A))
    Path("pattern.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n5 5 2\n2 1\n5 5\n")
    assert main(["run", "pattern.mtx", "a.npy", "-o", "c.npy"]) == 0
    pattern = np.zeros((5, 5))
    pattern[1, 0] = pattern[0, 1] = pattern[4, 4] = 1.0
    assert_same_bits(np.load("c.npy"), product(pattern, A))


@pytest.mark.usefixtures("folder")
def test_text_keeps_every_bit() -> None:
    x = np.array([[np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308, 0.1, 2 / 3]])
    np.save("x.npy", x.T)
    np.save("one.npy", np.ones((1, 1)))
    assert main(["run", "x.npy", "one.npy", "-o", "c.mtx"]) == 0
    assert_same_bits(mmread("c.mtx"), x.T)
    assert main(["run", "c.mtx", "one.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), x.T)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_keeps_its_other_members(save: Callable[..., None]) -> None:
    save("c.npz", A=A, C=np.zeros(3))
    assert main(["run", "c.npz:A", "b.npy", "-o", "c.npz:C"]) == 0  # reads from the file that it replaces
    assert main(["run", "a.npy", "b.npy", "-o", "c.npz:D"]) == 0
    with np.load("c.npz") as archive:
        assert sorted(archive.files) == ["A", "C", "D"]
        for name, x in (("A", A), ("C", product(A, B)), ("D", product(A, B))):
            assert_same_bits(archive[name], x)
    with zipfile.ZipFile("c.npz") as archive:
        assert len({info.compress_type for info in archive.infolist()}) == 1


@pytest.mark.usefixtures("folder")
def test_an_input_may_be_the_output() -> None:
    np.save("square.npy", A @ A.T)
    assert main(["run", "square.npy", "square.npy", "-o", "square.npy"]) == 0
    assert_same_bits(np.load("square.npy"), product(A @ A.T, A @ A.T))


@pytest.mark.usefixtures("folder")
def test_permissions_and_links_stay() -> None:
    Path("c.npy").write_bytes(b"")
    Path("c.npy").chmod(0o640)
    Path("link.npy").symlink_to("c.npy")
    assert main(["run", "a.npy", "b.npy", "-o", "link.npy"]) == 0
    assert Path("link.npy").is_symlink()
    assert Path("c.npy").stat().st_mode & 0o777 == 0o640
    assert_same_bits(np.load("c.npy"), product(A, B))
    before = os.umask(0o027)
    try:
        assert main(["run", "a.npy", "b.npy", "-o", "new.npy"]) == 0
    finally:
        os.umask(before)
    assert Path("new.npy").stat().st_mode & 0o777 == 0o640


@pytest.mark.usefixtures("folder")
def test_another_backend_serves_where_a_kernel_is_disabled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, new_process: object
) -> None:
    refusals = {"fp64": "backend: every kernel of 'fp64' failed its self-test"}
    monkeypatch.setattr(guard, "cpu_refusal", refusals.get)
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy"]) == 0
    assert_same_bits(np.load("c.npy"), product(A, B))
    assert f"fallback   {refusals['fp64']}" in capsys.readouterr().out
    assert main(["run", "a.npy", "b.npy", "-o", "d.npy", "--backend", "fp64"]) == 2
    assert capsys.readouterr().err == f"ozfp4 run: {refusals['fp64']}\n"
    assert not Path("d.npy").exists()


# ---- What is refused --------------------------------------------------------------------------------------

BAD_INPUTS = [
    ("missing.npy", r"missing\.npy: no such file"),
    ("folder.npy", r"folder\.npy: cannot be read as \.npy: Is a directory"),
    ("a.csv", r"'a\.csv' is not a file name that ends in \.npy, .*"),
    ("", r"'' is not a file name that ends in \.npy, .*"),
    ("ab.npz", r"ab\.npz: which member\? ab\.npz:NAME with NAME one of A, B"),
    ("ab.npz:C", r"ab\.npz:C: no such member; the file holds A, B"),
    ("none.npz", r"none\.npz: which member\? .* one of no members"),
    ("missing.npz:C", r"missing\.npz:C: no such file"),
    ("renamed.npz", r"renamed\.npz: cannot be read as \.npz: it is not an archive"),
    ("int.npy", r"int\.npy: dtype int64 is not supported; allowed is float64 or float32"),
    ("complex.npy", r"complex\.npy: dtype complex128 is not supported; .*"),
    ("objects.npy", r"objects\.npy: cannot be read as \.npy: .*"),
    *((f"{kind}.{form}", rf"{kind}\.{form}: cannot be read as \.{form}: [^\n]+")
      for kind in ("text", "short") for form in ("npy", "npz", "mtx", "mtx.gz")),
    ("huge.mtx", r"huge\.mtx: (not enough memory: |cannot be read as )[^\n]+"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD_INPUTS)
@pytest.mark.parametrize("name", ["A", "B"])
def test_bad_inputs(
    name: str, text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.npy").write_bytes(b"old")
    operands = [text, "b.npy"] if name == "A" else ["a.npy", text]
    refuse(folder, capsys, [*operands, "-o", "c.npy"], f"{name}: {message}")


def test_matrix_market_values_that_float64_lacks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("big.mtx").write_text("%%MatrixMarket matrix array integer general\n1 1\n9007199254740993\n")
    refuse(folder, capsys, ["big.mtx", "b.npy", "-o", "c.npy"], r"A: big\.mtx: integers beyond 2\^53, .*")
    Path("i.mtx").write_text("%%MatrixMarket matrix array complex general\n1 1\n1 2\n")
    refuse(folder, capsys, ["i.mtx", "b.npy", "-o", "c.npy"], r"A: i\.mtx: dtype complex128 .*")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["b.npy", "a.npy"], r"A, B: inner dimensions differ: .* \(7, 4\), .* \(5, 7\): 4 != 5"),
        (["a.npy", "b.npy", "--transpose-a"], r"A, B: inner dimensions differ: a has shape \(7, 5\), .*"),
        (["number.npy", "b.npy"], r"A: a 0-d array is not a matrix; .*"),
        (["a.npy", "number.npy"], r"B: a 0-d array is not a matrix; .*"),
        (["vector.npy", "b.npy", "--transpose-a"], r"--transpose-a: A has 1 dimensions, .*"),
        (["a.npy", "b.npy", "--bits", "201"], r"--bits: 201 is outside 2\.\.200"),
        (["a.npy", "b.npy", "--bits", "1.5"], r"argument --bits: invalid int value: '1\.5' \(see .*\)"),
        (["a.npy", "b.npy", "--backend", "fp8"], r"argument --backend: invalid choice: 'fp8' .*"),
        (["a.npy", "b.npy", "--family", "paper"], r"--family: 'paper' is for accuracy='scaled'; .*"),
        (["a.npy", "b.npy", "--accuracy", "scaled", "--backend", "int8", "--family", "paper"], r"--family: 'paper' exists .*"),
        (["a.npy", "b.npy", "--workspace", "0"], r"argument --workspace: '0' is not a size such as .*"),
        (["a.npy", "b.npy", "--workspace", "2X"], r"argument --workspace: '2X' is not a size such as .*"),
        (["a.npy", "b.npy", "--workspace", "9999999999T"], r"argument --workspace: '9999999999T' is not a size .*"),
        (["a.npy", "b.npy", "--workspace", "16"], r"--workspace: .* = 16 bytes is too small: .*"),
    ],
)  # fmt: skip
def test_bad_requests(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.npy").write_bytes(b"old")
    refuse(folder, capsys, [*arguments, "-o", "c.npy"], message)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("c.txt", r"'c\.txt' is not a file name that ends in .*"),
        ("c.npz", r"c\.npz: name the member to write, e\.g\. c\.npz:C"),
        ("missing/c.npy", r"missing/c\.npy: no such folder: .*/missing"),
        ("a.npy/c.npy", r"a\.npy/c\.npy: no such folder: .*"),
        ("/proc/c.npy", r"/proc/c\.npy: cannot be written: .*"),
        ("folder.npy", r"folder\.npy: exists and is not a regular file"),
        ("text.npz:C", r"text\.npz:C: exists and is not an \.npz file, .*"),
    ],
)
def test_bad_outputs(
    output: str,
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def multiplied(*_: object, **__: object) -> None:
        raise AssertionError("multiplied before the output was looked at")

    monkeypatch.setattr(ozfp4, "matmul", multiplied)
    refuse(folder, capsys, ["a.npy", "b.npy", "-o", output], f"--output: {message}")


def test_a_stack_does_not_fit_matrix_market(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refuse(
        folder,
        capsys,
        ["stack.npy", "b.npy", "-o", "c.mtx"],
        r"--output: c\.mtx: .* has 3 dimensions; use \.npy",
    )


def test_folder_without_permission(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    refuse(
        folder, capsys, ["a.npy", "b.npy", "-o", "c.npy"], r"--output: c\.npy: no permission to write in .*"
    )


@pytest.mark.parametrize("output", READERS)
def test_a_full_disk_leaves_the_old_file(
    output: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", "b.npy", "a.npy", "--transpose-a", "--transpose-b", "-o", output]) == 0
    capsys.readouterr()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    message = rf"--output: {re.escape(output)}: cannot be written: No space left on device"
    refuse(folder, capsys, ["a.npy", "b.npy", "-o", output], message)


def test_memory_that_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*operands: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr(ozfp4, "matmul", exhausted)
    refuse(
        folder, capsys, ["a.npy", "b.npy", "-o", "c.npy"], "not enough memory: Unable to allocate 7 TiB; .*"
    )


# ---- Interruption -----------------------------------------------------------------------------------------


def test_interrupt_during_writing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("c.npy").write_bytes(b"old")
    before = contents(folder)

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy"]) == 130
    assert capsys.readouterr().err == "ozfp4 run: interrupted\n"
    assert contents(folder) == before


def test_ctrl_c_during_the_product(folder: Path) -> None:
    np.save("tall.npy", np.random.default_rng(0).standard_normal((3000, 400)))
    before = contents(folder)
    # A tiny workspace makes this take minutes, in many short blocks.
    arguments = ["run", "tall.npy", "tall.npy", "--transpose-b", "-o", "c.npy", "--workspace", "15K"]
    # A shell that runs the tests in the background lets its children ignore Ctrl-C, hence the handler.
    program = (
        "import signal, sys; from ozfp4.cli import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main())"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        while not child.stdout.readline().startswith("moduli"):
            assert child.poll() is None
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 130
    assert errors == "ozfp4 run: interrupted\n"
    assert contents(folder) == before
