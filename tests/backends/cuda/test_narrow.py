"""Numbers of Python that the extension of GPU products counts in 32 bits are refused by name. Needs a build with CUDA, no GPU."""

import pytest

from ozfp4.backends.cuda import extension

CUDA = extension.extension()
if CUDA is None:
    pytest.skip("this build holds no CUDA kernels", allow_module_level=True)
FLOAT64 = CUDA.ElementType.float64


@pytest.mark.parametrize("extent", [2**31, 2**32 + 5, 2**62])
def test_extents(extent):
    for arguments, name in (((extent, 1), "rows of a or columns of b"), ((1, extent), "k")):
        with pytest.raises(ValueError, match=f"^{name}: {extent} exceeds the limit of 2147483647"):
            CUDA.Operand(0, FLOAT64, *arguments, 8, 8)
    for arguments, name in (((extent, 1), "rows of c"), ((1, extent), "columns of c")):
        with pytest.raises(ValueError, match=f"^{name}: {extent} exceeds the limit of 2147483647"):
            CUDA.Result(0, FLOAT64, *arguments, 8, 8)
    CUDA.Operand(0, FLOAT64, 2**31 - 1, 1, 8, 2**62)
