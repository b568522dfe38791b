"""Extents that no product on a GPU takes are refused before anything is made for them. Needs no GPU."""

import pytest

from ozfp4.backends.cuda import launch
from ozfp4.request.operands import matmul_shape


@pytest.mark.parametrize("name", ["m", "n", "k"])
def test_the_longest_extent(name):
    shape = matmul_shape((3, 4), (4, 5))._replace(**{name: 2**31 - 4095})
    with pytest.raises(ValueError, match=rf"^{name}: 2147479553 exceeds 2\*\*31 - 4096"):
        launch.check_extents(shape)
