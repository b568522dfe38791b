"""The import of a source tree that is not built fails with a message."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ozfp4


def test_a_tree_without_the_extension_says_how_to_build_it(tmp_path: Path) -> None:
    source = Path(ozfp4.__file__).parent
    shutil.copytree(source, tmp_path / "ozfp4", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    done = subprocess.run(
        # By path: an installed ozfp4 may be one that its finder would build or find elsewhere.
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ozfp4"],
        capture_output=True,
        text=True,
        timeout=120,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        f"ImportError: ozfp4 is not built: {tmp_path / 'ozfp4'} holds no extension module _core"
    )
    assert "pip install ." in last
    assert "circular" not in done.stderr
