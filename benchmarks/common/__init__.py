"""Shared by the programs. It puts tests/support on the path: operands and further references are those of the tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
