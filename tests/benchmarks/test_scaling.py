"""Scaling on paper: bytes, what bounds a product, its figure; and the page that says so."""

from __future__ import annotations

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
