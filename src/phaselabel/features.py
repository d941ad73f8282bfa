"""A table in, a matrix of features out, by a recipe that says what became of every column and can be kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from phaselabel.tables import Table, listed

#: Texts that stand for a missing value in a column of features.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "None")
#: A column of words with at most this many different ones is a category; with more it is free text.
MOST_CATEGORIES = 30
SCALES = ("robust", "standard", "none")
IMPUTATIONS = ("median", "mean")
#: TF-IDF has a dimension per term; neighbours are sought among this many leading directions of it.
TEXT_DIRECTIONS = 128


@dataclass(frozen=True)
class Column:
    """What was found in one column.

    ``kind`` is one of number, category, text, date, vector, counter (it numbers the rows), constant, empty
    or nested; ``values`` are a category's different words; ``width`` is a vector's length.
    """

    name: str
    kind: str
    missing: int = 0
    values: tuple[str, ...] = ()
    width: int = 1


def survey(table: Table, skip: Sequence[str] = ()) -> tuple[dict[str, Column], int]:
    """Look at every column once; answer what each one is and how many rows there are."""
    names = [name for name in table.names if name not in skip]
    found = {name: _Sighting() for name in names}
    n_rows = 0
    for batch in table.batches(names or table.names[:1]):
        for name in names:
            found[name].see(batch.column(name), n_rows)
        n_rows += batch.num_rows
    return {name: sighting.column(name, n_rows) for name, sighting in found.items()}, n_rows


class _Sighting:
    """What is known of a column after some of its batches."""

    def __init__(self) -> None:
        self.missing = 0
        self.number = self.date = self.counter = True
        self.vector = self.nested = False
        self.words: set[Any] = set()
        self.width = 0

    def see(self, column: pa.Array, start: int) -> None:
        if _is_list(column.type):
            self._see_vectors(column)
            return
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            self.nested = True
            return
        column = _plain(column)
        present = column.drop_null()
        self.missing += len(column) - len(present)
        if len(self.words) <= MOST_CATEGORIES:
            self.words.update(pc.unique(present.slice(0, 2000)).to_pylist())
        if len(self.words) <= MOST_CATEGORIES:
            self.words.update(pc.unique(present).to_pylist())
        if self.number:
            numbers = as_numbers(present)
            self.number = numbers is not None
            self.counter = self.counter and numbers is not None and _counts_on(numbers, start, len(column))
        if self.date:
            self.date = not self.number and as_days(present) is not None

    def _see_vectors(self, column: pa.Array) -> None:
        widths = pc.unique(pc.list_value_length(column)).to_pylist()
        inner = column.type.value_type
        self.vector = len(widths) == 1 and (pa.types.is_integer(inner) or pa.types.is_floating(inner))
        self.vector = self.vector and self.width in (0, widths[0])
        self.nested, self.width = not self.vector, widths[0] or 0

    def column(self, name: str, n_rows: int) -> Column:
        words = tuple(sorted(str(word) for word in self.words))
        if self.nested or self.vector:
            return Column(name, "nested" if self.nested else "vector", width=self.width)
        if self.missing == n_rows:
            return Column(name, "empty", self.missing)
        if len(words) == 1:
            return Column(name, "constant", self.missing, words)
        if self.number:
            counts = self.counter and n_rows > 2 and not self.missing
            return Column(name, "counter" if counts else "number", self.missing)
        if self.date:
            return Column(name, "date", self.missing)
        if len(words) <= MOST_CATEGORIES:
            return Column(name, "category", self.missing, words)
        return Column(name, "text", self.missing)


def _counts_on(numbers: NDArray[np.float64], start: int, length: int) -> bool:
    """Whether these are row numbers, from 0 or from 1."""
    if len(numbers) != length:
        return False
    gap = numbers - np.arange(start, start + length)
    return bool((gap == gap[0]).all() and gap[0] in (0, 1)) if length else True


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _plain(column: pa.Array) -> pa.Array:
    """A column with dictionary codes replaced by their words and with texts for "missing" as nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        gone = pc.is_in(column, value_set=pa.array(MISSING, column.type))
        return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def as_numbers(column: pa.Array) -> NDArray[np.float64] | None:
    """A column's values as numbers, NaN where missing; None if they aren't numbers."""
    if pa.types.is_temporal(column.type):
        return None
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    for trim in (False, True):
        try:
            values = pc.utf8_trim_whitespace(column) if trim else column
            return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
                return None
    return None


def as_days(column: pa.Array) -> NDArray[np.float64] | None:
    """A column of dates as days since 1970, NaN where missing; None if they aren't dates."""
    try:
        stamps = column.cast(pa.timestamp("ms"))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    days = stamps.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.asarray(pc.divide(days, 86_400_000.0).to_numpy(zero_copy_only=False), np.float64)


@dataclass
class Recipe:
    """How columns become features: which, in which role, and with which numbers.

    Attributes
    ----------
    roles : dict of str to str
        number, date, category, vector or text for every column that is used, in the table's order.
    left_out : dict of str to str
        Why each of the other columns isn't used.
    scale : {"robust", "standard", "none"}
        What is done to numbers and dates.
    scale_vectors : bool
        Whether vectors are scaled too.
    impute : {None, "median", "mean"}
        What stands in for a missing number.
    words : dict of str to tuple of str
        The words of every category.
    terms : dict of str to tuple of str
        The vocabulary of every text.
    arrays : dict of str to ndarray
        What was learned: ``<column>/fill``, ``/centre``, ``/spread``, ``/idf``, ``/directions``.
    """

    roles: dict[str, str]
    left_out: dict[str, str] = field(default_factory=dict)
    scale: str = "standard"
    scale_vectors: bool = False
    impute: str | None = None
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    terms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def fit_transform(self, table: Table, n_rows: int, bar: Any = None) -> NDArray[np.floating[Any]]:
        """Read the columns, learn what must be learned, and answer the matrix."""
        return self._matrix(table, n_rows, learn=True, bar=bar)

    def transform(self, table: Table, n_rows: int, bar: Any = None) -> NDArray[np.floating[Any]]:
        """Read the same columns of another table in the same way."""
        missing = [name for name in self.roles if name not in table.names]
        if missing:
            raise ValueError(
                f"{table.path.name} lacks the column{'s'[: len(missing) != 1]} {listed(map(repr, missing))}, "
                "which the model was fitted with."
            )
        return self._matrix(table, n_rows, learn=False, bar=bar)

    def _matrix(self, table: Table, n_rows: int, learn: bool, bar: Any) -> NDArray[np.floating[Any]]:
        blocks: dict[str, list[Any]] = {name: [] for name in self.roles}
        for batch in table.batches(list(self.roles)):
            for name, role in self.roles.items():
                blocks[name].append(self._read(batch.column(name), name, role, table))
            if bar is not None:
                bar.update(batch.num_rows)
        parts = []
        for name, role in self.roles.items():
            part = blocks.pop(name)
            if role == "text":
                parts.append(self._directions(name, [text for texts in part for text in texts], learn))
            else:
                values = np.concatenate(part) if len(part) > 1 else part[0]
                parts.append(values if role == "category" else self._scaled(name, role, values, learn))
        return np.hstack(parts) if len(parts) > 1 else parts[0]

    def _read(self, column: pa.Array, name: str, role: str, table: Table) -> Any:
        """One batch of one column, as a block of rows."""
        if role == "vector":
            flat = column.flatten().to_numpy(zero_copy_only=False)
            wide = flat.astype(np.float32 if flat.dtype.itemsize <= 4 else np.float64)
            return wide.reshape(len(column), -1)
        column = _plain(column)
        if role == "text":
            return [str(value) if value is not None else "" for value in column.to_pylist()]
        if role == "category":
            codes = pc.index_in(column.cast(pa.string()), pa.array(self.words[name])).fill_null(-1)
            # 1/√2 puts two different words at distance 1, what a scaled number calls one deviation.
            hot = np.arange(len(self.words[name])) == codes.to_numpy()[:, None]
            return hot * np.float32(np.sqrt(0.5))
        values = as_days(column) if role == "date" else as_numbers(column)
        if values is None:
            raise ValueError(
                f"Column {name!r} of {table.path.name} must hold {role}s; it holds something else."
            )
        return values[:, None]

    def _scaled(
        self, name: str, role: str, values: NDArray[Any], learn: bool
    ) -> NDArray[np.floating[Any]]:
        lost = ~np.isfinite(values)
        if np.isinf(values).any():
            raise ValueError(f"Column {name!r} holds an infinite value; replace it or leave the column out.")
        if lost.any():
            if self.impute is None:
                raise ValueError(
                    f"Column {name!r} has {int(lost.any(axis=1).sum()):,} missing values; fill them with --impute "
                    "median, or leave the column out with --drop."
                )
            if learn:
                middle = np.nanmedian if self.impute == "median" else np.nanmean
                self.arrays[f"{name}/fill"] = middle(values, axis=0)
            fill = self.arrays.get(f"{name}/fill")
            if fill is None:
                raise ValueError(
                    f"Column {name!r} has missing values, and the model was fitted without any; fill them first."
                )
            values = np.where(lost, fill, values)
        elif learn and self.impute is not None:
            middle = np.median if self.impute == "median" else np.mean
            self.arrays[f"{name}/fill"] = middle(values, axis=0)
        if self.scale == "none" or (role == "vector" and not self.scale_vectors):
            return values
        if learn:
            centre, spread = _spread(values, self.scale)
            self.arrays[f"{name}/centre"], self.arrays[f"{name}/spread"] = centre, spread
        shifted = (values - self.arrays[f"{name}/centre"]) / self.arrays[f"{name}/spread"]
        return shifted.astype(np.float32)

    def _directions(self, name: str, texts: list[str], learn: bool) -> NDArray[np.float32]:
        """TF-IDF rows of length 1, seen along their leading directions: near by cosine is near here."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.preprocessing import normalize

        if learn:
            vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2 if len(texts) > 50 else 1, max_df=0.5)
            try:
                rows = vectorizer.fit_transform(texts)
            except ValueError:
                raise ValueError(
                    f"Column {name!r} has no words to tell its rows apart by; is it the right --text column?"
                ) from None
            self.terms[name] = tuple(map(str, vectorizer.get_feature_names_out()))
            self.arrays[f"{name}/idf"] = vectorizer.idf_
            if rows.shape[1] > 2 * TEXT_DIRECTIONS and rows.shape[0] > TEXT_DIRECTIONS:
                svd = TruncatedSVD(TEXT_DIRECTIONS, random_state=0).fit(rows)
                self.arrays[f"{name}/directions"] = svd.components_.astype(np.float32)
        else:
            vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=list(self.terms[name]))
            vectorizer.idf_ = self.arrays[f"{name}/idf"]
            rows = vectorizer.transform(texts)
        directions = self.arrays.get(f"{name}/directions")
        seen = rows.toarray() if directions is None else rows @ directions.T
        return normalize(np.asarray(seen, np.float32))


def _spread(values: NDArray[Any], scale: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Centre and spread of every feature; where half of the values are equal the deviation stands in."""
    centre, spread = values.mean(axis=0), values.std(axis=0)
    if scale == "robust":
        low, centre, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        # A normal variable's quartiles are 1.349 deviations apart: both scales speak one language.
        spread = np.where(high > low, (high - low) / 1.349, spread)
    return centre, np.where(spread > 0, spread, 1.0)


def plan(
    columns: Mapping[str, Column],
    *,
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    date: Sequence[str] = (),
    scale: str | None = None,
    impute: str | None = None,
) -> Recipe:
    """Give every column its role; refuse what isn't clear.

    Parameters
    ----------
    columns : dict of str to Column
        What a survey found.
    features : sequence of str
        Use these and no others; by default numbers, categories and vectors.
    drop, text, date : sequence of str
        Leave out; use as free text; use as a date.
    scale : {"robust", "standard", "none"}, optional
        How numbers are scaled; by default standard for columns and none for vectors.
    impute : {"median", "mean"}, optional
        What to put for missing numbers; they are refused by default.
    """
    for name in (*features, *drop, *text, *date):
        if name not in columns:
            raise ValueError(f"There is no column {name!r} to use; the table has {listed(map(repr, columns))}.")
    roles, left_out = {}, {}
    for name, column in columns.items():
        role, reason = _role(column, name in features, name in drop, name in text, name in date, features)
        if role:
            roles[name] = role
        else:
            left_out[name] = reason
    if not roles:
        reasons = listed((f"{name} ({reason})" for name, reason in left_out.items()), 5)
        raise ValueError(f"No column can be used as a feature: {reasons or 'there is none'}.")
    recipe = Recipe(roles, left_out, scale or "standard", scale is not None and scale != "none", impute)
    recipe.words = {name: columns[name].values for name, role in roles.items() if role == "category"}
    _refuse_missing(columns, recipe)
    return recipe


def _role(
    column: Column, asked: bool, dropped: bool, text: bool, date: bool, features: Sequence[str]
) -> tuple[str, str]:
    """The column's role, or an empty one and the reason."""
    kind, name = column.kind, column.name
    if dropped:
        return "", "dropped"
    if text:
        return "text", ""
    if date:
        if kind != "date":
            raise ValueError(f"Column {name!r} is not a date as ISO 8601 writes them (2024-12-31); it is a {kind}.")
        return "date", ""
    if asked and kind in ("date", "text"):
        raise ValueError(f"Column {name!r} is a {kind}, not a number; pass --{kind} {name} to use it as one.")
    if asked and kind in ("nested", "empty"):
        raise ValueError(f"Column {name!r} is {kind} and can't be a feature.")
    if asked:
        return {"counter": "number", "constant": "number"}.get(kind, kind), ""
    if features:
        return "", "not among --features"
    reasons = {
        "text": f"free text, more than {MOST_CATEGORIES} different values; --text {name} uses it",
        "date": f"a date; --date {name} uses it",
        "counter": f"numbers the rows; --features {name} uses it",
        "constant": "the same everywhere",
        "empty": "empty",
        "nested": "nested",
    }
    return ("", reasons[kind]) if kind in reasons else (kind, "")


def _refuse_missing(columns: Mapping[str, Column], recipe: Recipe) -> None:
    if recipe.impute:
        return
    gaps = {name: columns[name].missing for name, role in recipe.roles.items() if role in ("number", "date")}
    gaps = {name: count for name, count in gaps.items() if count}
    if gaps:
        shown = listed((f"{name} {count:,}" for name, count in gaps.items()), 5)
        raise ValueError(
            f"{sum(gaps.values()):,} values are missing in {len(gaps)} column{'s'[: len(gaps) != 1]} ({shown}); "
            "fill them with --impute median, or leave such columns out with --drop."
        )


def describe(recipe: Recipe, columns: Mapping[str, Column]) -> Iterator[tuple[str, str]]:
    """Lines that say which columns became features and how, as (heading, words)."""
    by_role: dict[str, list[str]] = {}
    for name, role in recipe.roles.items():
        by_role.setdefault(role, []).append(name)
    scaled = {
        "none": "as they are",
        "standard": "scaled to mean 0, deviation 1",
        "robust": "scaled by median and quartiles",
    }[recipe.scale]
    for role, names in by_role.items():
        if role == "number" or role == "date":
            yield f"{role}s", f"{len(names)}, {scaled}: {listed(names)}"
        elif role == "category":
            yield "categories", "one-hot: " + listed(f"{name} ({len(recipe.words[name])})" for name in names)
        elif role == "vector":
            how = scaled if recipe.scale_vectors else "as they are"
            yield "vectors", f"{how}: " + listed(f"{name} ({columns[name].width:,})" for name in names)
        else:
            yield "text", f"TF-IDF, cosine: {listed(names)}"
    gaps = {n: columns[n].missing for n, r in recipe.roles.items() if columns[n].missing and r != "text"}
    if gaps:
        how = f"numbers filled with the {recipe.impute}, " if recipe.impute else ""
        yield "missing", f"{sum(gaps.values()):,} values ({how}categories: none of the words)"
    for name, reason in recipe.left_out.items():
        yield "left out", f"{name}: {reason}"
