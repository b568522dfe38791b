"""Functions of libozfp4 for a GPU, called as those of the host."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import library as lib
import numpy as np

from support.devices import Device, Memory

GUARD = 256  # bytes behind the workspace, which stay as they are
POISON = 0xA5


class Host:
    """ozfp4_NAME with these arguments and options; bounds go to `bound`."""

    is_gpu = False

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def __call__(
        self, name: str, *given: Any, asked: lib.Options | None = None, bound: lib.Array | None = None
    ) -> int:
        if bound is not None:
            asked.bound = bound.ctypes.data
        return getattr(self.library, f"ozfp4_{name}")(*given, asked)

    def succeed(self, name: str, *given: Any, **further: Any) -> None:
        status = self(name, *given, **further)
        assert status == lib.OK, lib.error(self.library)

    def sized(self, usual: Any, on_a_gpu: Any) -> Any:
        return on_a_gpu if self.is_gpu else usual

    def prepare(self, *given: Any, asked: lib.Options | None = None) -> Any:
        made = ctypes.c_void_p()
        lib.succeed(self.library, "prepare", *given, asked, ctypes.addressof(made))
        return made

    def release(self, made: Any) -> None:
        self.library.ozfp4_release(made)


def names_of(function: str) -> list[str]:
    """The names of its arguments."""
    return [re.search(r"(\w+)$", argument)[1] for argument in lib.declared()[function]]


class Launch:
    """ozfp4_cuda_NAME with copies of its matrices on the device, and a workspace of the queried size."""

    def __init__(
        self, library: ctypes.CDLL, name: str, given: tuple[Any, ...], asked: lib.Options | None, bound: Any
    ) -> None:
        import torch

        self._library, self._name, self._asked = library, name, asked
        self.memory = Memory(Device("cuda"))
        self.values = dict(zip(names_of(f"ozfp4_{name}"), given, strict=False))
        self.results = [x for x in (self.values["c"], bound) if x is not None]
        if bound is not None:
            asked.bound = self.memory.address(bound)
        there = {x: self.memory.address(y) for x, y in self.values.items() if x in "abc" and y is not None}
        self.there = self.values | there
        self.size = self._query()
        if self.status != lib.OK:  # the call has to say so too
            self.size = 1 << 20
        self.workspace = torch.full((self.size + GUARD,), POISON, dtype=torch.uint8, device="cuda:0")
        torch.cuda.synchronize()  # for whatever stream

    def _query(self) -> int:
        kind = re.sub(r"^[dszc](?=gemm|gram)", "", self._name)
        asked = dict(self.there)
        if typed := re.match("gemm_(i[0-9]+)(i[0-9]+)(i[0-9]+)$", kind):
            types = (lib.TYPES[f"int{x[1:]}"] for x in typed.groups())
            kind, asked = "igemm", asked | dict(zip(("type_a", "type_b", "type_c"), types, strict=True))
        elif kind != self._name:
            dtype = {letter: x for x, letter in lib.LETTERS.items()}[self._name[0]]
            asked["type"] = lib.TYPES[dtype]
            for factor in {"alpha", "beta"} & set(asked):
                asked[factor] = np.array(asked[factor], dtype)  # by their addresses
        query = f"ozfp4_cuda_workspace_size_{kind}"
        size = ctypes.c_int64(-1)
        own = [asked[x] for x in names_of(query)[:-2]]
        self.status = getattr(self._library, query)(*own, self._asked, size)
        return max(size.value, 0)

    def run(self, size: int | None = None, stream: int | None = None) -> int:
        given = [self.there[x] for x in names_of(f"ozfp4_cuda_{self._name}")[:-4]]
        size = self.size if size is None else size
        place = self.workspace.data_ptr() if self.size else None
        return getattr(self._library, f"ozfp4_cuda_{self._name}")(*given, place, size, stream, self._asked)

    def read(self) -> None:
        """Copy what was written to the arrays that were given."""
        for x in self.results:
            self.memory.write_back(x)
        assert bool((self.workspace[self.size :] == POISON).all())


class Cuda(Host):
    """The same by ozfp4_cuda_NAME, which refuses a workspace that is a byte smaller than it says, and then leaves all."""

    is_gpu = True

    def __call__(
        self, name: str, *given: Any, asked: lib.Options | None = None, bound: lib.Array | None = None
    ) -> int:
        launch = Launch(self.library, name, given, asked, bound)
        if launch.size and launch.status == lib.OK:
            before = [x.tobytes() for x in launch.results]
            assert launch.run(launch.size - 1) == lib.WORKSPACE
            assert f": {launch.size - 1} are fewer than {launch.size}" in lib.error(self.library)
            launch.read()
            assert [x.tobytes() for x in launch.results] == before
        status = launch.run()
        launch.read()
        assert launch.status in (lib.OK, status)
        return status

    def prepare(self, *given: Any, asked: lib.Options | None = None, stream: int | None = None) -> Any:
        import torch

        x = given[-2]
        there = Memory(Device("cuda"))
        own = (*given[:-2], there.address(x), given[-1])
        size, made = ctypes.c_int64(-1), ctypes.c_void_p()
        lib.succeed(self.library, "cuda_prepared_size", *own, asked, size)
        memory = torch.full((size.value + GUARD,), POISON, dtype=torch.uint8, device="cuda:0")
        torch.cuda.synchronize()  # for whatever stream
        given = (*own, memory.data_ptr())
        if size.value:
            status = self.library.ozfp4_cuda_prepare(
                *given, size.value - 1, stream, asked, ctypes.addressof(made)
            )
            assert (status, made.value) == (lib.WORKSPACE, None)
        lib.succeed(self.library, "cuda_prepare", *given, size.value, stream, asked, ctypes.addressof(made))
        torch.cuda.synchronize()
        assert bool((memory[size.value :] == POISON).all())
        there.put(x).fill_(77)  # it is a copy
        made.memory = memory  # belongs to it
        return made

    def release(self, made: Any) -> None:
        self.library.ozfp4_cuda_release(made)
