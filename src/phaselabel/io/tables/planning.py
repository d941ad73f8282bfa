"""What the columns of a table hold in, a recipe for it out, and in words what was decided and why."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote

from phaselabel.io.tables.columns import MOST_CATEGORIES, Column
from phaselabel.io.tables.recipe import ODD_CELLS, Recipe
from phaselabel.io.tables.table import listed

#: What is said of 1,5 where 1.5 was expected.
OTHER_MARK = "numbers with another decimal mark, or with both; --decimal , (or .) reads those with one"
#: Why a column is left out that the user does not want.
DROPPED = "--drop names it"
#: How a column is used that is left out by default; --features names all columns that are used.
AMONG = "name it among --features to use it"


def plan(
    columns: Mapping[str, Column],
    *,
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    date: Sequence[str] = (),
    scale: str | None = None,
    impute: str | None = None,
    dry: bool = False,
) -> Recipe:
    """Give every column its role; refuse what is not clear.

    Parameters
    ----------
    columns : dict of str to Column
        What :func:`survey` returns.
    features : sequence of str
        The only columns to use; by default numbers, categories and vectors.
    drop, text, date : sequence of str
        Columns to leave out, to use as free text, to use as dates.
    scale : {"robust", "standard", "none"}, optional
        How numbers are scaled; by default standard for columns and none for vectors.
    impute : {"median", "mean"}, optional
        How missing numbers are filled; by default they are refused.
    dry : bool, default=False
        Whether the recipe is only shown: missing numbers are no reason to refuse then.

    Returns
    -------
    Recipe
        The roles; nothing has been learned.
    """
    for name in (*features, *drop, *text, *date):
        if name not in columns:
            raise ValueError(
                f"There is no column {name!r} to use; the table has {listed(map(repr, columns))}."
            )
    roles, left_out, written = {}, {}, {}
    used, dropped, texts, dates = set(features), set(drop), set(text), set(date)
    for one, other, options in (
        (dropped, used, "--drop and --features"),
        (dropped, texts, "--drop and --text"),
        (dropped, dates, "--drop and --date"),
        (texts, dates, "--text and --date"),
    ):
        if one & other:
            raise ValueError(f"Column {min(one & other)!r} is named by {options}; name it once.")
    for name, column in columns.items():
        if impute and column.odd and name not in dropped | texts | dates and (not features or name in used):
            column = replace(column, kind="number", written=ODD_CELLS, missing=column.missing + column.n_odd)
        role, reason = _role(
            column, name in used, name in dropped, name in texts, name in dates, bool(features)
        )
        if role and column.written:
            written[name] = column.written
        if role:
            roles[name] = role
        else:
            left_out[name] = reason
    if not roles:
        reasons = listed((f"{name} ({reason})" for name, reason in left_out.items()), 5)
        if not left_out:
            raise ValueError("The labels are the only column; rows are told apart by others, so add some.")
        raise ValueError(f"No column can be used as a feature: {reasons}.")
    recipe = Recipe(roles, left_out, scale or "standard", scale is not None and scale != "none", impute)
    recipe.written = written
    recipe.words = {name: columns[name].values for name, role in roles.items() if role == "category"}
    faults = unusable_numbers(columns, recipe)
    if faults and not dry:
        raise ValueError(f"{faults}.")
    return recipe


def _role(
    column: Column, asked: bool, dropped: bool, text: bool, date: bool, only_asked: bool
) -> tuple[str, str]:
    """The role of a column, or an empty one and the reason."""
    kind, name = column.kind, column.name
    if dropped:
        return "", DROPPED
    if text:
        return "text", ""
    if date:
        if kind != "date":
            raise ValueError(f"Column {name!r} is not a date like 2024-12-31 or 31.12.2024; it is a {kind}.")
        return "date", ""
    if asked and kind == "text" and column.odd:
        words = _not_numbers(column)
        raise ValueError(f"{words[0].upper()}{words[1:]}.")
    if asked and kind in ("date", "text"):
        raise ValueError(
            f"Column {name!r} is a {kind}, not a number; pass --{kind} {quote(name)} to use it as one."
        )
    if asked and kind == "comma":
        raise ValueError(f"Column {name!r} holds {OTHER_MARK}.")
    if asked and kind in ("nested", "empty"):
        raise ValueError(f"Column {name!r} is {kind} and can't be a feature.")
    if asked:
        return {"counter": "number", "key": "number", "constant": "number"}.get(kind, kind), ""
    if only_asked:
        return "", "not among --features"
    reasons = {
        "text": _unread(column),
        "date": f"a date; --date {quote(name)} uses it",
        "counter": f"numbers the rows; {AMONG}",
        "key": f"{column.reason}, which say nothing of the row; {AMONG}",
        "comma": OTHER_MARK,
        "constant": "the same everywhere",
        "empty": "empty",
        "nested": "nested",
    }
    return ("", reasons[kind]) if kind in reasons else (kind, "")


def _unread(column: Column) -> str:
    """Why a column of text is no feature."""
    if column.odd:
        return "numbers, but for some cells; --impute median counts these as missing"
    named = f"{column.reason}, which say nothing of the row" if column.reason else ""
    reason = named or f"free text, more than {MOST_CATEGORIES} different values"
    return f"{reason}; --text {quote(column.name)} uses it"


def odd_cells(columns: Mapping[str, Column], recipe: Recipe) -> Iterator[str]:
    """A sentence on every column that has cells which are no numbers where nearly all the others are.

    Examples
    --------
    >>> column = Column("age", "text", odd="98 of its cells are numbers, but 2 cells are not", n_odd=2)
    >>> width = Column("width", "number")
    >>> next(odd_cells({"age": column}, plan({"age": column, "width": width}, impute="median")))
    "column 'age': 98 of its cells are numbers, but 2 cells are not; these count as missing and are filled"
    """
    for name, column in columns.items():
        if not column.odd or recipe.left_out.get(name) == DROPPED or recipe.roles.get(name) == "text":
            continue
        if recipe.written.get(name) == ODD_CELLS:
            which = "it counts as missing and is" if column.n_odd == 1 else "these count as missing and are"
            yield f"column {name!r}: {column.odd}; {which} filled"
        else:
            yield _not_numbers(column)


def _not_numbers(column: Column) -> str:
    """That a column which is nearly numbers is not used as numbers, and what can be done."""
    return (
        f"column {column.name!r} is not used as numbers: {column.odd}; correct such cells, count them as "
        "missing and fill them with --impute median, or leave the column out with --drop "
        f"{quote(column.name)}"
    )


def unusable_numbers(columns: Mapping[str, Column], recipe: Recipe) -> str:
    """Which numbers are infinite, or missing and not filled, and what to do; empty if there are none."""
    infinite = {name: columns[name].infinite for name in recipe.roles if columns[name].infinite}
    faults = (
        (_unfilled(columns, recipe), "missing", "fill in what is missing with --impute median"),
        (infinite, "infinite", "replace what is infinite"),
    )
    said, remedies = [], []
    for counts, what, remedy in faults:
        if counts:
            n, where = sum(counts.values()), f"{len(counts)} column{'s'[: len(counts) > 1]}"
            shown = listed((f"{name} {count:,}" for name, count in counts.items()), 5)
            said.append(f"{n:,} value{'s are' if n > 1 else ' is'} {what} in {where} ({shown})")
            remedies.append(remedy)
    if not said:
        return ""
    return f"{' and '.join(said)}; {', '.join(remedies)}, or leave such columns out with --drop"


def _unfilled(columns: Mapping[str, Column], recipe: Recipe) -> dict[str, int]:
    """The number of missing values in every column of numbers that has some and is not filled."""
    if recipe.impute:
        return {}
    used = (columns[name] for name, role in recipe.roles.items() if role in ("number", "date"))
    return {column.name: column.missing for column in used if column.missing}


def describe(recipe: Recipe, columns: Mapping[str, Column], most: int = 8) -> Iterator[tuple[str, str]]:
    """Lines that say which columns become features and how, as (heading, words)."""
    by_role: dict[str, list[str]] = {}
    for name, role in recipe.roles.items():
        by_role.setdefault(role, []).append(_visible(name))
    scaled = {
        "none": "as they are",
        "standard": "scaled to mean 0, deviation 1",
        "robust": "scaled by median and quartiles",
    }[recipe.scale]
    for name, reason in recipe.left_out.items():
        if name in columns and columns[name].reason and reason != DROPPED:
            yield "key", f"{_visible(name)}: {reason}"
    for role, names in by_role.items():
        if role == "number" or role == "date":
            yield f"{role}s", f"{len(names)}, {scaled}: {listed(names, most)}"
        elif role == "category":
            yield (
                "categories",
                "one-hot: "
                + listed((f"{_visible(name)} ({len(words)})" for name, words in recipe.words.items()), most),
            )
        elif role == "vector":
            how = scaled if recipe.scale_vectors else "as they are"
            widths = {name: columns[name].width for name, own in recipe.roles.items() if own == role}
            yield (
                "vectors",
                f"{how}: " + listed(f"{_visible(name)} ({width:,})" for name, width in widths.items()),
            )
        else:
            how = f"embedded by {recipe.embed}" if recipe.embed else "words counted (TF-IDF)"
            yield "text", f"{how}, cosine: {listed(names, most)}"
    gaps = {name: _gaps(columns[name], recipe) for name, role in recipe.roles.items() if role != "text"}
    if any(gaps.values()):
        unfilled = "numbers not filled, " if _unfilled(columns, recipe) else ""
        how = f"numbers filled with the {recipe.impute}, " if recipe.impute else unfilled
        n = sum(gaps.values())
        yield "missing", f"{n:,} value{'s'[: n != 1]} ({how}categories: none of the words)"
    for name, how in recipe.written.items():
        yield "read as", f"{_visible(name)}: {_said(recipe.roles[name], how)}"
    for name, reason in recipe.left_out.items():
        if name not in columns or not columns[name].reason or reason == DROPPED:
            yield "left out", f"{_visible(name)}: {reason}"


def _visible(name: str) -> str:
    """The name of a column, in quotes where it would not be seen, as that of the index pandas writes."""
    return name if name and name == name.strip() else repr(name)


def _gaps(column: Column, recipe: Recipe) -> int:
    """The missing cells of a column, those that count as missing among them."""
    return column.missing + (column.n_odd if recipe.written.get(column.name) == ODD_CELLS else 0)


def _said(role: str, how: str) -> str:
    """How cells that are not written as usual were read."""
    if how == ODD_CELLS:
        return "numbers; cells that are none count as missing"
    if role == "date":
        return f"dates like {datetime.datetime(2023, 12, 31, 14, 5).strftime(how)}"
    return f"numbers, written with {how}"
