"""Mutations of Python, found in its syntax tree. Annotations, texts of errors and what only prints stay as they are."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import accumulate

from mutants.mutation import SWITCH, Mutation, one_line

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    old: list(new)
    for old, *new in (
        *(
            (ast.Lt, ast.LtE, ast.Gt),
            (ast.LtE, ast.Lt, ast.GtE),
            (ast.Gt, ast.GtE, ast.Lt),
            (ast.GtE, ast.Gt, ast.LtE),
        ),
        *((ast.Eq, ast.NotEq), (ast.NotEq, ast.Eq), (ast.Is, ast.IsNot), (ast.IsNot, ast.Is)),
        *((ast.In, ast.NotIn), (ast.NotIn, ast.In)),
    )
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = dict(
    (
        *(
            (ast.Add, ast.Sub),
            (ast.Sub, ast.Add),
            (ast.Mult, ast.Add),
            (ast.Div, ast.Mult),
            (ast.FloorDiv, ast.Mult),
        ),
        *((ast.Mod, ast.FloorDiv), (ast.Pow, ast.Mult), (ast.LShift, ast.RShift), (ast.RShift, ast.LShift)),
        *((ast.BitAnd, ast.BitOr), (ast.BitXor, ast.BitOr)),
    )
)
PRINTS = {"print", "debug", "info", "warning", "warn"}
TEXTS = {"__repr__", "__str__", "_repr_html_"}


def prints(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    name = (
        called.id
        if isinstance(called, ast.Name)
        else called.attr
        if isinstance(called, ast.Attribute)
        else ""
    )
    return name in PRINTS


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node of what runs and is no text."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.JoinedStr, ast.arguments)) or prints(child):
            continue
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if child.name not in TEXTS:
                yield from nodes(ast.Module([*child.decorator_list, *child.body], []))
                yield from nodes(
                    ast.Module([d for d in (*child.args.defaults, *child.args.kw_defaults) if d], [])
                )
            continue
        yield child
        if isinstance(child, ast.AnnAssign):
            if child.value:
                yield from nodes(ast.Module([child.value], []))
        elif not isinstance(child, ast.Raise):
            yield from nodes(child)


def mutated(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Kind, the node to replace and what replaces it."""

    def changed(**fields: object) -> ast.AST:
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for comparison in COMPARISONS[type(node.ops[0])]:
            yield "comparison", node, changed(ops=[comparison()])
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield "operator", node, changed(op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield "operator", node, changed(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", node, ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        for step in (1, -1):
            yield "constant", node, ast.Constant(node.value + step)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "operator", node, node.operand
    elif isinstance(node, ast.Call):
        is_extreme = isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
        if is_extreme:
            yield "min/max", node, changed(func=ast.Name("min" if node.func.id == "max" else "max"))
        plain = not is_extreme and not any(isinstance(a, ast.Starred) for a in node.args)
        for i in range(len(node.args) - 1 if plain else 0):
            args = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
            yield "arguments", node, changed(args=args)
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield "return", node.value, ast.Constant(None)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)) and ast.unparse(node.test) != "TYPE_CHECKING":
        yield "condition", node.test, ast.UnaryOp(ast.Not(), node.test)
        yield "condition", node.test, ast.Constant(False)


def is_dropped(node: ast.AST) -> bool:
    calls = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not prints(node.value)
    return calls or isinstance(node, (ast.AugAssign, ast.Raise, ast.Continue, ast.Break))


def candidates(text: str) -> Iterator[Mutation]:
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in nodes(ast.parse(text)):
        for kind, old, new in mutated(node):
            start, end = offset(old.lineno, old.col_offset), offset(old.end_lineno, old.end_col_offset)
            original, replacement = text[start:end], ast.unparse(new)
            line = one_line(lines[old.lineno - 1])
            change = f"{one_line(original)}  ->  {one_line(replacement)}" + (
                f"  in: {line}" if kind == "constant" else ""
            )
            yield Mutation(kind, start, end, f"(({replacement}) if {SWITCH} else ({original}))", change)
        if is_dropped(node):
            start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
            if not lines[node.lineno - 1][: node.col_offset].strip():
                dropped = one_line(text[start:end])
                yield Mutation(
                    "statement", start, end, f"if not {SWITCH}: {text[start:end]}", f"dropped: {dropped}"
                )
