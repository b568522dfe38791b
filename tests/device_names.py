"""Names of devices as parameters of the fixture `device`; conftest.py needs them before it may import ozfp4."""


class Name(str):
    __slots__ = ()


NUMPY, CPU, CUDA = Name("numpy"), Name("cpu"), Name("cuda")
