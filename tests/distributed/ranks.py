"""Processes of a torch.distributed group that run functions of tests: started once, used many times.

A fork server imports torch and ozfp4 once, so that a group of eight starts in a second. A rank runs a function at the top of a
module, ``function(here, *arguments)`` with a :class:`Here`. Arguments and results are pickled: other processes must be able to
import their classes.

    def sums(here, value):
        x = torch.full((1,), value + here.rank, device=here.device)
        dist.all_reduce(x)
        return x.item()

    assert group(3).run(sums, 1.0) == [6.0, 6.0, 6.0]
"""

from __future__ import annotations

import atexit
import faulthandler
import importlib.util
import multiprocessing
import os
import pickle
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LIMIT = 110.0  # seconds that a function may take before its group is ended
# By name: "cuda+cpu" is what init_process_group() has without a backend, where messages go by the host.
BACKENDS = {"cpu": "gloo", "cuda": "nccl", "cuda+cpu": "cpu:gloo,cuda:nccl"}
# On the CPU two ranks, three, which most extents leave unequal pieces of, and more of them than most extents have entries.
KINDS = [
    ("cpu", 2), ("cpu", 3), ("cpu", 8), ("cuda", 2), ("cuda", 4), ("cuda", 8), ("cuda+cpu", 2),
]  # fmt: skip
PAIRS = [("cpu", 2), ("cuda", 2), ("cuda+cpu", 2)]  # of what takes two ranks to fail
FAILING = [("cpu", 3), *PAIRS[1:]]


def named(kind: tuple[str, int]) -> str:
    return f"{kind[0]}-{kind[1]}"


@dataclass(frozen=True)
class Here:
    """Where a function runs."""

    rank: int
    size: int
    device: str  # "cpu", or "cuda:1" and so on, which is then the current device


@dataclass(frozen=True)
class Outcome:
    """The outcome of a function on a rank: a value, or an error as "TypeName: message" with its traceback; neither where the
    process has ended or took too long."""

    value: Any = None
    error: str | None = None
    trace: str = ""
    is_dead: bool = False
    seconds: float = 0.0


class RanksError(AssertionError):
    """Some ranks raised, died or hung: which, and why."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        lines = [
            f"rank {rank} of {len(outcomes)}: {x.error or 'died or hung'}\n{x.trace}"
            for rank, x in enumerate(outcomes)
            if x.error or x.is_dead
        ]
        super().__init__("\n".join(lines))


class Ranks:
    """A group of `size` processes, `device` one of BACKENDS. `timeout`: seconds after which a collective without its peers
    fails."""

    def __init__(self, size: int, device: str = "cpu", timeout: float = 60.0) -> None:
        self.size, self.device = size, device
        self._folder = tempfile.TemporaryDirectory(prefix="ozfp4-ranks-")
        store = str(Path(self._folder.name) / "store")
        context = _context()
        self._pipes, self._processes = [], []
        for rank in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, rank, size, device, store, timeout), daemon=True
            )
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        self.is_usable = True
        started = self.outcomes(_nothing)
        if any(x.error or x.is_dead for x in started):
            self.close()
            raise RanksError(started)

    def run(self, function: Callable[..., Any], *arguments: Any, limit: float = LIMIT) -> list[Any]:
        """The values of all ranks; RanksError where one has none."""
        found = self.outcomes(function, *arguments, limit=limit)
        if any(x.error or x.is_dead for x in found):
            raise RanksError(found)
        return [x.value for x in found]

    def outcomes(self, function: Callable[..., Any], *arguments: Any, limit: float = LIMIT) -> list[Outcome]:
        """The outcome on each rank. After a death, or where a rank took longer than `limit`, the group is not usable any more.
        After an error of one rank alone it may be in disorder; the caller must expect that."""
        assert self.is_usable, "a rank of this group died or hung before"
        message = pickle.dumps((_address(function), arguments, limit))
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.send_bytes(message)
        ends = time.monotonic() + limit
        found = [self._take(pipe, ends) for pipe in self._pipes]
        if any(x.is_dead for x in found):
            self.close()
        return found

    @staticmethod
    def _take(pipe: Any, ends: float) -> Outcome:
        try:
            if pipe.poll(max(0.0, ends - time.monotonic())):
                outcome = pickle.loads(pipe.recv_bytes())
                assert isinstance(outcome, Outcome)
                return outcome
        except (EOFError, OSError):
            pass
        return Outcome(is_dead=True)

    def close(self) -> None:
        self.is_usable = False
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(0.2)
            if process.is_alive():
                process.kill()
                process.join()
        self._folder.cleanup()


_groups: dict[tuple[str, int], Ranks] = {}


def group(size: int, device: str = "cpu") -> Ranks:
    """The group that all tests of this process share; a new one after one that died. Skips where there are not as many GPUs."""
    check_gpus(size, device)
    found = _groups.get((device, size))
    if found is None or not found.is_usable:
        found = _groups[device, size] = Ranks(size, device)
    return found


def check_gpus(size: int, device: str) -> None:
    """Skips where there are not as many GPUs."""
    import torch

    if device != "cpu" and torch.cuda.device_count() < size:
        pytest.skip(f"needs {size} GPUs")


@atexit.register
def close_all() -> None:
    for each in _groups.values():
        each.close()
    _groups.clear()


def _context() -> Any:
    """Where processes are forked of a server that has imported all that takes long. One thread each: there are many of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch.distributed", "ozfp4", "numpy"])
    names = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OZFP4_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        from multiprocessing import forkserver

        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return context


# ---- In the process of a rank


def _nothing(here: Here) -> None:
    """The first call: the group is ready when it returns."""


def _address(function: Callable[..., Any]) -> tuple[str, str]:
    """The file and the name of a function: pytest's modules have names that no other process could import."""
    file = sys.modules[function.__module__].__file__
    assert file is not None
    assert function.__qualname__ == function.__name__, "functions of ranks stand at the top of their module"
    return file, function.__name__


_modules: dict[str, ModuleType] = {}


def _load(file: str) -> ModuleType:
    if file == __file__:
        return sys.modules[__name__]
    if file not in _modules:
        specification = importlib.util.spec_from_file_location(f"_of_ranks_{Path(file).stem}", file)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[specification.name] = module  # dataclasses and pickle need it
        specification.loader.exec_module(module)
        _modules[file] = module
    return _modules[file]


def _serve(pipe: Any, rank: int, size: int, device: str, store: str, timeout: float) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    here = Here(rank, size, device if device == "cpu" else f"cuda:{rank}")
    began = False
    while True:
        try:
            (file, name), arguments, limit = pickle.loads(pipe.recv_bytes())
        except EOFError:
            os._exit(0)  # without the end of the group, in which peers may be missing
        faulthandler.dump_traceback_later(max(1.0, limit - 3.0), exit=False)
        start = time.monotonic()
        try:
            if not began:
                if device != "cpu":
                    torch.cuda.set_device(rank)
                dist.init_process_group(
                    BACKENDS[device],
                    init_method=f"file://{store}",
                    rank=rank,
                    world_size=size,
                    timeout=timedelta(seconds=timeout),
                )
                began = True
            value = getattr(_load(file), name)(here, *arguments)
            outcome = Outcome(value, seconds=time.monotonic() - start)
            message = pickle.dumps(outcome)
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
            outcome = Outcome(None, text, traceback.format_exc(), seconds=time.monotonic() - start)
            message = pickle.dumps(outcome)
        faulthandler.cancel_dump_traceback_later()
        with suppress(BrokenPipeError):
            pipe.send_bytes(message)
