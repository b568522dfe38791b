"""Tables as text and as HTML, and the values that show themselves as tables."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4._support.table import Table


def test_columns_and_cells() -> None:
    table = Table([("a", "1"), ("<b>", "20")], ("name", "n"), right=(1,))
    assert table.lines() == ["name   n", "a      1", "<b>   20"]
    html = table.html()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert html.count("<tr>") == 3
    assert html.count("text-align: right") == 3


def values() -> dict[str, object]:
    a = np.ones((2, 2))
    return {
        "report": ozfp4.matmul(a, a, report=True)[1],
        "plan": ozfp4.plan(2, 2, 2, backend="fp4", accuracy="scaled"),
        "info": ozfp4.info(),
        "selftest": ozfp4.SelfTest(()),
    }


@pytest.mark.parametrize("name", ["report", "plan", "info", "selftest"])
def test_a_value_shows_itself_as_a_table(name: str) -> None:
    value = values()[name]
    assert repr(value) == str(value)
    assert "object at 0x" not in repr(value)
    html = value._repr_html_()
    assert (
        html.count("<table>")
        == html.count("</table>")
        == len(list(filter(lambda t: t.rows, value._tables())))
    )
    for line in str(value).splitlines():
        assert line == line.rstrip()


def test_a_failure_is_in_the_table() -> None:
    from ozfp4._backends.kernels import cpu_kernel
    from ozfp4._trust.guard import Verdict

    tested = ozfp4.SelfTest((Verdict(cpu_kernel("fp64"), False, "short", 3, 0.5, "case <7>"),))
    assert not tested
    assert "500.0  FAILED: case <7>" in str(tested)
    assert "FAILED: case &lt;7&gt;" in tested._repr_html_()
