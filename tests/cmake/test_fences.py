"""tools/check_fences.py finds kernels that do not publish barriers before copies arrive at them."""

from __future__ import annotations

import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from check_fences import unfenced  # noqa: E402

INIT = "mbarrier.init.shared::cta.b64 [%r1], %r2;\n"
FENCE = "fence.mbarrier_init.release.cluster; // 3.\n"
COPY = (
    "cp.async.bulk.tensor.4d.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r4}], [%r1];\n"
)


def entry(name: str, body: str) -> str:
    return f".visible .entry {name}(\n\t.param .align 64 .b8 {name}_param_0[9248]\n)\n{{\n{body}ret;\n}}\n"


def test_a_kernel_without_the_fence_is_found() -> None:
    ptx = ".version 9.0\n.target sm_120f\n" + "".join(
        (
            entry("right", INIT + INIT + FENCE + COPY),
            entry("without", INIT + COPY),
            entry("too_early", INIT + FENCE + INIT + COPY),
            entry("right_too", INIT + FENCE + COPY),
        )
    )
    assert unfenced(ptx, ["right", "right_too"]) == []
    assert unfenced(ptx, ["right", "without", "too_early", "right_too"]) == ["without", "too_early"]


def test_a_kernel_that_is_not_there_is_no_right_one() -> None:
    assert unfenced(entry("right", INIT + FENCE), ["other"]) == ["other"]


def test_cutlass_fences_what_copies_arrive_at() -> None:
    name = "_ZN7cutlass13device_kernel"
    assert unfenced(entry(name, INIT + FENCE + INIT + COPY), [name]) == []
    assert unfenced(entry(name, INIT + INIT + COPY), [name]) == [name]
