"""Writes the Fortran module of the C interface from its header, in the builds that install both.

    python tools/make_fortran_module.py include/ozfp4.h MODULE

A function, type or constant that the header declares is in the module under the same name.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

LONGEST = 128

TEXT = """\
! The C interface of ozfp4 for Fortran, made of ozfp4.h, which describes the functions.
! Compile it with your program. Arrays are passed as they are, in OZFP4_COL_MAJOR; options may be left out.
module ozfp4
  use, intrinsic :: iso_c_binding
  implicit none
  public

{constants}

{types}

  interface
{functions}
  end interface

contains

  ! What ozfp4_last_error says, as a Fortran string.
  function ozfp4_error_text() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: held(:)
    integer :: length
    call c_f_pointer(ozfp4_last_error(), held, [1024])
    length = 0
    do while (held(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate(character(len=length) :: text)
    text = transfer(held(1:length), text)
  end function

end module
"""

MEMBERS = {
    "size_t": "integer(c_size_t)", "int32_t": "integer(c_int32_t)", "int64_t": "integer(c_int64_t)", "double": "real(c_double)"
}  # fmt: skip
BYTES = {"size_t": 8, "int32_t": 4, "int64_t": 8, "double": 8}
VALUES = {
    "int": "integer(c_int)", "int32_t": "integer(c_int32_t)", "int64_t": "integer(c_int64_t)", "double": "real(c_double)",
    "float": "real(c_float)", "ozfp4_type": "integer(c_int)", "ozfp4_side": "integer(c_int)",
    "ozfp4_status": "integer(c_int)",
}  # fmt: skip
ENTRIES = {
    "double": "real(c_double)", "float": "real(c_float)", "int8_t": "integer(c_int8_t)", "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
}  # fmt: skip
COMPLEX = {"z": "complex(c_double_complex)", "c": "complex(c_float_complex)"}
SCALARS = {"bytes", "count", "alpha", "beta"}


def plain(text: str) -> str:
    """The header without comments, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/|^\s*#.*?$", " ", text, flags=re.DOTALL | re.MULTILINE))


def constants(text: str) -> str:
    numbers = re.findall(r"\b(OZFP4_\w+) = (\d+)", plain(text))
    return "\n".join(f"  integer(c_int), parameter :: {name} = {value}" for name, value in numbers)


def types(text: str) -> str:
    found = []
    for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} (\w+);", plain(text)):
        lines, total = [], 0
        for member in filter(None, map(str.strip, body.split(";"))):
            declared, names = re.fullmatch(r"((?:const )?\w+\*?) (.*)", member).groups()
            for one in names.split(", "):
                if declared.endswith("*"):
                    lines.append(f"    type(c_ptr) :: {one} = c_null_ptr")
                else:
                    lines.append(
                        f"    {MEMBERS[declared]} :: {one} = {'0' if declared != 'double' else '0.0_c_double'}"
                    )
                total += 8 if declared.endswith("*") else BYTES[declared]
        lines[0] = f"    integer(c_size_t) :: size = {total}_c_size_t"
        found.append("\n".join([f"  type, bind(c) :: {name}", *lines, "  end type"]))
    return "\n\n".join(found)


def argument(function: str, text: str) -> tuple[str, str]:
    """Name and declaration of an argument."""
    declared, stars, name = re.fullmatch(r"(?:const )?(\w+)(\**) (\w+)", text).groups()
    letter = re.fullmatch(r"ozfp4_(?:cuda_)?([dszc])(?:gemm|gram)\w*", function)
    intent = "in" if text.startswith("const") else "inout"
    on_device = function.startswith("ozfp4_cuda_") and name in ("a", "b", "c", "workspace", "stream")
    if not stars:
        return name, f"{VALUES[declared]}, value :: {name}"
    if declared == "ozfp4_options":
        return name, f"type(ozfp4_options), intent(in), optional :: {name}"
    if declared == "ozfp4_plan_info":
        return name, f"type({declared}), intent(inout) :: {name}"
    if stars == "**":
        return name, f"type(c_ptr), intent(out) :: {name}"
    if declared == "void" and letter and not on_device:
        return name, f"{COMPLEX[letter.group(1)]}, intent({intent}) :: {name}" + (
            "" if name in SCALARS else "(*)"
        )
    if declared in ENTRIES and not on_device:
        return name, f"{ENTRIES[declared]}, intent({intent}) :: {name}" + ("" if name in SCALARS else "(*)")
    if declared == "int" and name in SCALARS:
        return name, f"integer(c_int), intent(out) :: {name}"
    return name, f"type(c_ptr), value :: {name}"


def wrapped(text: str) -> str:
    """Words of a line that is too long, on several."""
    lines, indent = [], len(text) - len(text.lstrip())
    while len(text) > LONGEST:
        cut = text.rindex(" ", 0, LONGEST - 2)
        lines.append(text[:cut] + " &")
        text = " " * (indent + 4) + text[cut + 1 :]
    return "\n".join([*lines, text])


def function(result: str, name: str, given: str) -> str:
    arguments = [] if given == "void" else [argument(name, text) for text in given.split(", ")]
    names = ", ".join(one for one, _ in arguments)
    is_subroutine = result == "void"
    kind = "subroutine" if is_subroutine else "function"
    lines = [wrapped(f"    {kind} {name}({names}) bind(c)"), "      import"]
    lines += [f"      {declaration}" for _, declaration in arguments]
    if not is_subroutine:
        lines.append(f"      {'type(c_ptr)' if '*' in result else VALUES[result]} :: {name}")
    return "\n".join([*lines, f"    end {kind}"])


def module(text: str) -> str:
    found = re.findall(r"OZFP4_API ((?:const )?\w+\*?) (ozfp4_\w+)\(([^;]*)\);", plain(text))
    functions = "\n".join(
        function(result.removeprefix("const "), name, given) for result, name, given in found
    )
    return TEXT.format(constants=constants(text), types=types(text), functions=functions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("header", type=Path)
    parser.add_argument("module", type=Path)
    asked = parser.parse_args()
    asked.module.write_text(module(asked.header.read_text()))


if __name__ == "__main__":
    main()
