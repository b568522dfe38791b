"""Scaling on paper: bytes, what bounds a product, its figure; and the page that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cluster import projections as paper

CLUSTERS = paper.clusters()
MESHES = [
    (cluster, mesh)
    for cluster in CLUSTERS
    for ranks in (1, 2, 4, *paper.GROUPS)
    for mesh in (paper.rows_only(ranks), paper.best_mesh(ranks, cluster))
]
IDS = [f"{cluster.name}-{mesh.shape[0]}x{mesh.shape[1]}" for cluster, mesh in MESHES]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "scaling.md"


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster.name)
def test_of_rows_alone_each_gpu_of_a_host_receives_b(cluster: paper.Cluster) -> None:
    for ranks in (2, 4, 8):
        received = 8 * 1000**2 * (ranks - 1) / ranks
        assert paper.moving_seconds(1000, paper.rows_only(ranks), cluster) == pytest.approx(
            received / cluster.nvlink
        )


def test_of_a_square_mesh_each_gpu_receives_a_share_of_both() -> None:
    cluster, mesh = CLUSTERS[0], paper.Mesh((1, 1), (2, 2))
    received = 2 * (8 * 1000**2 / 2) / 2
    assert paper.moving_seconds(1000, mesh, cluster) == pytest.approx(received / cluster.nvlink)


def test_hosts_share_what_their_gpus_gather_alike() -> None:
    cluster = paper.Cluster("any", "int8", 1e14, 1e-11, 1e15, 1e9, "none")  # by the network alone
    assert paper.gather_seconds(64e9, 8, 4, cluster) == pytest.approx(64 * 3 / 4 / 8)
    assert paper.gather_seconds(64e9, 1, 4, cluster) == pytest.approx(64 * 3 / 4)
    assert paper.slower_link(paper.rows_only(64), cluster) == "network"
    assert paper.slower_link(paper.rows_only(8), cluster) == "NVLink"


@pytest.mark.parametrize(("cluster", "mesh"), MESHES, ids=IDS)
def test_links_bound_smaller_products_and_the_rest_larger_ones(
    cluster: paper.Cluster, mesh: paper.Mesh
) -> None:
    n = paper.equal_size(mesh, cluster)

    def local(n: float) -> float:
        return paper.product_seconds(n, mesh.ranks, cluster) + paper.encode_seconds(n, mesh, cluster)

    if n:
        assert local(n) == pytest.approx(paper.moving_seconds(n, mesh, cluster))
        assert local(n / 2) < paper.moving_seconds(n / 2, mesh, cluster)
    assert local(n * 2 + 1) > paper.moving_seconds(n * 2 + 1, mesh, cluster)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(("cluster", "mesh"), MESHES, ids=IDS)
def test_efficiency_grows_with_n_up_to_one(cluster: paper.Cluster, mesh: paper.Mesh, hidden: bool) -> None:
    found = [paper.efficiency(n, mesh, cluster, hidden=hidden) for n in paper.SIZES]
    assert found == sorted(found)
    assert found[0] > 0
    assert found[-1] <= 1
    best = [paper.efficiency(n, mesh, cluster, hidden=True) for n in paper.SIZES]
    assert all(x <= y for x, y in zip(found, best, strict=True))
    for share in (0.5, 0.9) if mesh.ranks > 1 else ():
        n = paper.size_for(share, mesh, cluster, hidden=hidden)
        if n:
            assert paper.efficiency(n, mesh, cluster, hidden=hidden) == pytest.approx(share)
        else:
            assert paper.efficiency(1, mesh, cluster, hidden=hidden) >= share


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster.name)
@pytest.mark.parametrize("ranks", paper.GROUPS)
def test_no_mesh_moves_and_encodes_for_less_than_the_best(cluster: paper.Cluster, ranks: int) -> None:
    best, hosts, inside = paper.best_mesh(ranks, cluster), ranks // 8, 8
    assert best.ranks == ranks
    for i in range(10):
        for j in range(4):
            if hosts % 2**i == 0 and inside % 2**j == 0:
                mesh = paper.Mesh((2**i, hosts // 2**i), (2**j, inside // 2**j))
                taken = [
                    paper.moving_seconds(1, x, cluster) + paper.encode_seconds(1, x, cluster)
                    for x in (mesh, best)
                ]
                assert taken[1] <= taken[0]


def test_one_gpu_has_the_rate_of_its_cluster() -> None:
    for cluster in CLUSTERS:
        n = paper.MODELLED_N
        assert 2 * n**3 / paper.seconds(n, paper.ONE, cluster) == pytest.approx(cluster.rate)


def test_a_figure_of_what_is_modelled_says_so() -> None:
    pytest.importorskip("matplotlib")
    from figures import scaling

    figure = scaling.modelled()
    assert "modelled, not measured" in figure.get_supxlabel().replace("\n", " ")
    assert len(figure.axes) == len(CLUSTERS)
    for cluster, axes in zip(CLUSTERS, figure.axes, strict=True):
        assert axes.get_title(loc="left").startswith(f"{cluster.name}, {cluster.backend}")
        lines = [list(line.get_ydata()) for line in axes.lines]
        assert lines[0] == [paper.efficiency(n, paper.rows_only(8), cluster) for n in paper.SIZES]
        assert len(lines) == 3 * len(paper.GROUPS)


def test_the_figure_of_measurements_has_them_and_the_model() -> None:
    pytest.importorskip("matplotlib")
    from figures import scaling

    case = {"a": "rows", "b": "columns", "method": "auto", "N": 64, "model ms": 1.0, "ms": 2.0}
    rows = [
        case | {"kind": "strong", "ranks": ranks, "speed-up": ranks / 2, "efficiency": 0.5}
        for ranks in (2, 4)
    ]
    rows.append(rows[1] | {"N": 32})  # another size is not in it
    rows.append(rows[0] | {"kind": "weak"})
    figure = scaling.measured(
        {"machine": {"device": "a GPU", "date": "today", "commit": "abc"}, "rows": rows}
    )
    strong, weak = figure.axes
    assert [list(line.get_ydata()) for line in strong.lines] == [[1, 2, 4], [1, 1, 2], [1, 2, 4]]
    assert [list(line.get_ydata()) for line in weak.lines] == [[1, 1], [1, 0.5], [1, 1.0]]
    assert "a GPU, commit abc" in figure.get_supxlabel()


@pytest.mark.skipif(not PAGE.exists(), reason="no page here")
def test_the_page_says_what_the_table_of_it_does() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split("What bounds what")[1].split())

    def percent(cluster: paper.Cluster, n: int, mesh: paper.Mesh) -> str:
        return " to ".join(f"{100 * paper.efficiency(n, mesh, cluster, hidden=x):.0f}" for x in (False, True))

    def bound(ranks: int, cluster: paper.Cluster) -> str:
        found = float(f"{paper.equal_size(paper.rows_only(ranks), cluster):.2g}")
        return f"{found:,.0f}".replace(",", " ")

    h200, b200, b300 = CLUSTERS
    for ranks, n in ((8, 16384), (64, 65536), (512, 262144)):
        rows, mesh = (percent(h200, n, x) for x in (paper.rows_only(ranks), paper.best_mesh(ranks, h200)))
        assert f"{rows} % of its speed alone with rows, {mesh} % with the mesh" in text, (ranks, rows, mesh)
    for ranks, clusters in ((64, (h200, b200)), (512, (h200, b200, b300))):
        for cluster in clusters:
            assert bound(ranks, cluster) in text, (ranks, cluster.name)
    assert "32 × 16" in text
    assert paper.best_mesh(512, h200).shape == (32, 16)
    assert not re.search(r"measured on (64|512)", text)
