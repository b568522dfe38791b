"""The rows of a benchmark: every product once, as times torch's."""

from __future__ import annotations

from typing import Any

from meshes import mesh_of
from ranks import Here, group


def rows(here: Here) -> list[dict[str, Any]]:
    from ozfp4.bench.scaling.dtensors import dtensor_rows

    return dtensor_rows(mesh_of(here, (here.size,)), 8, 1)


def test_rows() -> None:
    for found in group(2).run(rows):
        assert found[0]["x torch"] == 1.0
        assert len({row["product"] for row in found}) == 6
        assert all(row["n"] == 8 and row["ranks"] == 2 and row["us"] >= row["host us"] > 0 for row in found)
