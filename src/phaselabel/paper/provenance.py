"""This package in, its commit and a digest of the code that the paper's figures are computed by out."""

import ast
import hashlib
import io
import subprocess
import tokenize
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

#: The figures depend on these: the flow, what is done with few labels, the graph and its weights, their
#: kernels, the data sets and their random streams. The search for neighbours is not among them: the paper's
#: graphs are exact, whatever the search. Nor are evidence, which only the runs of the defaults use, and the
#: methods that the flow is compared with.
SOURCES = (
    "flow",
    "few_labels",
    "graph/graph.py",
    "graph/weights.py",
    "_kernels/flow.py",
    "_kernels/graph.py",
    "_kernels/spread.py",
    "datasets.py",
    "streams.py",
)


def commit() -> str | None:
    """The commit of this package, with "+" if files of it were changed since; None outside a git checkout.

    Returns
    -------
    str or None
        Forty hexadecimal digits, perhaps with a "+".
    """
    # An installed package may lie in the checkout of another project: that commit is not ours.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head, changed = _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", ".")
    return None if head is None else head + ("+" if changed else "")


def source_digest() -> str:
    """A digest of the code in ``SOURCES``, without comments, docstrings and blank lines.

    Returns
    -------
    str
        Sixteen hexadecimal digits; the same on every version of Python.
    """
    digest = hashlib.sha256()
    for source in SOURCES:
        path = PACKAGE / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0")
            digest.update(code_of(file.read_text(encoding="utf-8")).encode() + b"\0")
    return digest.hexdigest()[:16]


def code_of(text: str) -> str:
    """Python source without comments, docstrings and blank lines.

    Parameters
    ----------
    text : str
        The source.

    Returns
    -------
    str
        What is left of it.

    Examples
    --------
    >>> code_of("def f():\\n    '''Say one.'''\\n\\n    return 1  # why not\\n")
    'def f():\\n    return 1'
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        # Neither ast.dump nor ast.unparse: they differ between versions of Python.
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            for row in range(first.lineno, (first.end_lineno or first.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=PACKAGE, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.strip()
