"""A table in, a matrix of features out, by a recipe that says what became of every column and can be kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from phaselabel.tables.columns import MOST_CATEGORIES, Column, as_days, as_numbers, plain
from phaselabel.tables.table import Table, listed

#: TF-IDF has a dimension per term; neighbours are sought among this many leading directions of it.
TEXT_DIRECTIONS = 128
#: What to do about 1,5 where 1.5 was expected.
OTHER_MARK = "--decimal , (or .) reads them"


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

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> "Recipe":
        """A recipe from the plain values that ``vars`` made of it."""
        try:
            words = {name: tuple(entries) for name, entries in kept["words"].items()}
            terms = {name: tuple(entries) for name, entries in kept["terms"].items()}
            return cls(**{**kept, "words": words, "terms": terms})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"The model's recipe for a table is damaged ({error}).") from None

    def fit_transform(self, table: Table, bar: Any = None) -> NDArray[np.floating[Any]]:
        """Read the columns, learn what must be learned, and answer the matrix."""
        return self._matrix(table, learn=True, bar=bar)

    def transform(self, table: Table, bar: Any = None) -> NDArray[np.floating[Any]]:
        """Read the same columns of another table in the same way."""
        missing = [name for name in self.roles if name not in table.names]
        if missing:
            raise ValueError(
                f"{table.path.name} lacks the column{'s'[: len(missing) != 1]} {listed(map(repr, missing))}, "
                "which the model was fitted with."
            )
        return self._matrix(table, learn=False, bar=bar)

    def _matrix(self, table: Table, learn: bool, bar: Any) -> NDArray[np.floating[Any]]:
        blocks: dict[str, list[Any]] = {name: [] for name in self.roles}
        for batch in table.batches(list(self.roles)):
            for name, role in self.roles.items():
                blocks[name].append(self._read(batch.column(name), name, role, table))
            if bar is not None:
                bar.update(batch.num_rows)
        parts = []
        for name, role in self.roles.items():
            part = blocks.pop(name)
            if not part:
                raise ValueError(f"{table.path.name} has no rows.")
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
        column = plain(column)
        if role == "text":
            return [str(value) if value is not None else "" for value in column.to_pylist()]
        if role == "category":
            codes = pc.index_in(column.cast(pa.string()), pa.array(self.words[name])).fill_null(-1)
            # 1/√2 puts two different words at distance 1, what a scaled number calls one deviation.
            hot = np.arange(len(self.words[name])) == codes.to_numpy()[:, None]
            return hot * np.float32(np.sqrt(0.5))
        values = as_days(column) if role == "date" else as_numbers(column, table.decimal)
        if values is None:
            raise ValueError(
                f"Column {name!r} of {table.path.name} must hold {role}s; it holds something else."
            )
        return values[:, None]

    def _scaled(self, name: str, role: str, values: NDArray[Any], learn: bool) -> NDArray[np.floating[Any]]:
        """Numbers with their gaps filled, centred and divided by their spread."""
        if np.isinf(values).any():
            raise ValueError(f"Column {name!r} holds an infinite value; replace it or leave the column out.")
        if learn and self.impute is not None:
            middle = np.nanmedian if self.impute == "median" else np.nanmean
            self.arrays[f"{name}/fill"] = middle(values, axis=0)
        lost = np.isnan(values)
        if lost.any():
            if self.impute is None:
                raise ValueError(
                    f"Column {name!r} has {int(lost.any(axis=1).sum()):,} missing values; "
                    + (
                        "label with --impute median to fill"
                        if learn
                        else "the model doesn't know how to fill"
                    )
                    + " them, or leave the column out (phaselabel label --drop)."
                )
            values = np.where(lost, self.arrays[f"{name}/fill"], values)
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
            vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2 if len(texts) > 50 else 1, max_df=0.7)
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
            raise ValueError(
                f"There is no column {name!r} to use; the table has {listed(map(repr, columns))}."
            )
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
            raise ValueError(
                f"Column {name!r} is not a date as ISO 8601 writes them (2024-12-31); it is a {kind}."
            )
        return "date", ""
    if asked and kind in ("date", "text"):
        raise ValueError(f"Column {name!r} is a {kind}, not a number; pass --{kind} {name} to use it as one.")
    if asked and kind == "comma":
        raise ValueError(f"Column {name!r} holds numbers with another decimal mark; {OTHER_MARK}.")
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
        "comma": f"numbers with another decimal mark; {OTHER_MARK}",
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
            f"{sum(gaps.values()):,} values are missing in {len(gaps)} column{'s'[: len(gaps) != 1]} "
            f"({shown}); "
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
