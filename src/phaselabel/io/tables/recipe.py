"""A table in, a matrix of features out, by a recipe that can be saved."""

import datetime
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from phaselabel.io.tables.columns import MOST_CATEGORIES, NUMBER, Column, as_days, as_numbers, plain
from phaselabel.io.tables.notation import days_written, numbers_or_gaps, written_numbers
from phaselabel.io.tables.table import Table, listed
from phaselabel.io.tables.vectors import vectors_of

#: TF-IDF has a dimension per term; at most this many leading directions of it become features.
TEXT_DIRECTIONS = 128
#: A scaled number is at most this many deviations from the middle: features have 32 bits.
MOST_DEVIATIONS = 1e30
#: Numbers of more than two to this power, or less than its inverse, are scaled before they are squared.
MOST_EXPONENT = 500
#: The remedy for 1,5 where 1.5 was expected.
OTHER_MARK = "--decimal , (or .) reads them"
#: How a column is written in which a few cells are no numbers.
ODD_CELLS = "odd cells"
#: Why a column is left out that the user does not want.
DROPPED = "--drop names it"
#: How a column is used that is left out by default; --features names all columns that are used.
AMONG = "name it among --features to use it"


@dataclass
class Recipe:
    """Which columns become features, in which roles, and with which numbers.

    Attributes
    ----------
    roles : dict of str to str
        The role of every column that is used: number, date, category, vector or text.
    left_out : dict of str to str
        Why each of the other columns is not used.
    scale : {"robust", "standard", "none"}
        How numbers and dates are scaled.
    scale_vectors : bool
        Whether vectors are scaled too.
    impute : {None, "median", "mean"}
        How missing numbers are filled.
    words : dict of str to tuple of str
        The words of each category.
    terms : dict of str to tuple of str
        The vocabulary of each text.
    embed, embed_digest : str
        The model that texts are embedded by, and the digest of its weights; empty for TF-IDF.
    arrays : dict of str to ndarray
        The learned numbers: ``<column>/fill``, ``/centre``, ``/spread``, ``/idf``, ``/directions``.
    written : dict of str to str
        How the numbers or dates of a column are written, where that is not as usual.
    widths : dict of str to int
        The number of features that every column became, in the order of the matrix.
    """

    roles: dict[str, str]
    left_out: dict[str, str] = field(default_factory=dict)
    scale: str = "standard"
    scale_vectors: bool = False
    impute: str | None = None
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    terms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    embed: str = ""
    embed_digest: str = ""
    widths: dict[str, int] = field(default_factory=dict)

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> "Recipe":
        """A recipe from the plain values that ``vars`` made of it."""
        try:
            words = {name: tuple(entries) for name, entries in kept["words"].items()}
            terms = {name: tuple(entries) for name, entries in kept["terms"].items()}
            recipe = cls(**{**kept, "words": words, "terms": terms})
            recipe._check_kinds()
            return recipe
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"The model's recipe for a table is damaged ({error}).") from None

    def _check_kinds(self) -> None:
        """Refuse parts of the wrong kind, which a file may hold."""
        if not all(isinstance(part, dict) for part in (self.roles, self.arrays, self.written)):
            raise TypeError("its columns are no table")
        if not all(isinstance(part, str) for part in (self.scale, self.embed, self.embed_digest)):
            raise TypeError("its names are no texts")
        entries = chain(*self.words.values(), *self.terms.values())
        if not all(isinstance(word, str) for word in entries):
            raise TypeError("its words are no texts")
        if not all(np.asarray(numbers).dtype.kind in "fiub" for numbers in self.arrays.values()):
            raise TypeError("its scales are no numbers")

    def fit_transform(self, table: Table, bar: Any = None) -> NDArray[np.floating[Any]]:
        """Read the columns, learn what must be learned, and return the matrix.

        Parameters
        ----------
        table : Table
            The table.
        bar : object, optional
            Its ``update(n)`` is called after every n rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The features.
        """
        return self._matrix(table, learn=True, bar=bar)

    def transform(self, table: Table, bar: Any = None) -> NDArray[np.floating[Any]]:
        """Read the same columns of another table, or of a part of the same one, in the same way."""
        missing = [name for name in self.roles if name not in table.names]
        if missing:
            raise ValueError(
                f"{table.path.name} lacks the column{'s'[: len(missing) != 1]} {listed(map(repr, missing))}, "
                "which the model was fitted with."
            )
        try:
            return self._matrix(table, learn=False, bar=bar)
        except KeyError as error:
            raise ValueError(f"The recipe of the model is damaged: it lacks {error}.") from None

    def places(self, names: Sequence[str]) -> list[int]:
        """The features that some columns became, by their places in the matrix.

        Examples
        --------
        >>> Recipe({"a": "number", "b": "category"}, widths={"a": 1, "b": 3}).places(["b"])
        [1, 2, 3]
        """
        ends = dict(zip(self.widths, accumulate(self.widths.values())))
        return [place for name in names for place in range(ends[name] - self.widths[name], ends[name])]

    def learns(self, name: str) -> bool:
        """Whether the numbers for a column must be learned from all of its values."""
        role = self.roles[name]
        return role == "text" or (role != "category" and (self._scales(role) or self.impute is not None))

    def learn(self, table: Table, name: str) -> dict[str, NDArray[Any]]:
        """Learn the numbers for one column of numbers, dates or vectors.

        Parameters
        ----------
        table : Table
            The whole table.
        name : str
            The column.

        Returns
        -------
        dict of str to ndarray
            The new entries for ``arrays``, which stay as they are.
        """
        learner = replace(self, arrays={})
        learner._filled_and_scaled(name, self.roles[name], self.values(table, name), table, learn=True)
        return learner.arrays

    def values(self, table: Table, name: str) -> NDArray[Any]:
        """The values of one column of numbers, dates or vectors as they are, NaN where missing."""
        blocks: list[Any] = []
        for batch in table.batches([name]):
            blocks.append(self._read(batch.column(0), name, self.roles[name], table, blocks))
        return _joined(blocks)

    def _matrix(self, table: Table, learn: bool, bar: Any) -> NDArray[np.floating[Any]]:
        blocks: dict[str, list[Any]] = {name: [] for name in self.roles}
        for batch in table.batches(list(self.roles)):
            for (name, role), column in zip(self.roles.items(), batch.columns, strict=True):
                blocks[name].append(self._read(column, name, role, table, blocks[name]))
            if bar is not None:
                bar.update(batch.num_rows)
        features = []
        for name, role in self.roles.items():
            block = blocks.pop(name)
            if not block:
                raise ValueError(f"{table.path.name} has no rows.")
            if role == "text" and self.embed:
                features.append(self._embedded([text for texts in block for text in texts]))
            elif role == "text":
                features.append(self._directions(name, [text for texts in block for text in texts], learn))
            elif role == "category":
                features.append(_joined(block))
            else:
                features.append(self._filled_and_scaled(name, role, _joined(block), table, learn))
        if learn or not self.widths:
            self.widths = {name: block.shape[1] for name, block in zip(self.roles, features)}
        return np.hstack(features) if len(features) > 1 else features[0]

    def _read(self, column: pa.Array, name: str, role: str, table: Table, above: list[Any]) -> Any:
        """One batch of one column, as a block of rows below those above."""
        if role == "vector":
            return _vectors(column, name, table, above)
        column = plain(column)
        if role == "text":
            return [str(value) if value is not None else "" for value in column.to_pylist()]
        if role == "category":
            codes = pc.index_in(column.cast(pa.string()), pa.array(self.words[name])).fill_null(-1)
            # 1/√2 puts two different words at distance 1: the same as one deviation of a scaled number.
            hot = np.arange(len(self.words[name])) == codes.to_numpy()[:, None]
            return hot * np.float32(np.sqrt(0.5))
        values = self._numbers(column, name, role, table.decimal)
        if values is None:

            def fails(place: int) -> bool:
                return self._numbers(column.slice(0, place + 1), name, role, table.decimal) is None

            place = bisect_left(range(len(column)), True, key=fails)
            raise ValueError(
                f"Column {name!r} of {table.path.name} must hold {role}s; it holds "
                f"{column[place].as_py()!r:.40} in row {place + sum(map(len, above)):,}, counted from 0."
            )
        return values[:, None]

    def _numbers(self, column: pa.Array, name: str, role: str, decimal: str) -> NDArray[np.float64] | None:
        """Numbers or days, however they are written; None if they are something else."""
        written = self.written.get(name, "")
        if role == "date":
            return as_days(column) if not written else days_written(column, written)
        values = as_numbers(column, decimal)
        if values is None and written == ODD_CELLS:
            return numbers_or_gaps(column, decimal, NUMBER)
        return written_numbers(column, decimal) if values is None and written else values

    def _scales(self, role: str) -> bool:
        return self.scale != "none" and (role != "vector" or self.scale_vectors)

    def _filled_and_scaled(
        self, name: str, role: str, values: NDArray[Any], table: Table, learn: bool
    ) -> NDArray[np.floating[Any]]:
        """Numbers with missing ones filled, centred and divided by their spread."""
        if np.isinf(values).any():
            raise ValueError(
                f"Column {name!r} holds an infinite value; replace it, or leave the column out with --drop."
            )
        if learn and self.impute is not None:
            middle = np.nanmedian if self.impute == "median" else np.nanmean
            if np.isnan(values).all(axis=0).any():
                raise ValueError(
                    f"Column {name!r} of {table.path.name} has no value to fill missing ones with; leave it "
                    "out with --drop."
                )
            unit = _unit(np.nanmax(np.abs(values), axis=0, initial=0))
            self.arrays[f"{name}/fill"] = middle(values / unit, axis=0) * unit
        missing = np.isnan(values)
        if missing.any():
            if self.impute is None:
                n = int(missing.any(axis=1).sum())
                raise ValueError(
                    f"Column {name!r} of {table.path.name} has {n:,} missing value{'s'[: n != 1]}; fill in "
                    "what is missing with --impute median when you label, or leave the column out with "
                    "--drop."
                )
            values = np.where(missing, self.arrays[f"{name}/fill"], values)
        if not self._scales(role):
            return values
        if learn:
            centre, spread = _spread(values, self.scale)
            self.arrays[f"{name}/centre"], self.arrays[f"{name}/spread"] = centre, spread
        centre, spread = self.arrays[f"{name}/centre"], self.arrays[f"{name}/spread"]
        unit = _unit(np.maximum(np.abs(values).max(axis=0, initial=0), spread))
        with np.errstate(all="ignore"):  # a recipe may be from a file; the result is checked
            shifted = (values / unit - centre / unit) / (spread / unit)
        if not (np.abs(shifted) <= MOST_DEVIATIONS).all():
            raise ValueError(
                f"Column {name!r} of {table.path.name} has a value more than {MOST_DEVIATIONS:g} deviations "
                "from the middle; correct it, or leave the column out with --drop."
            )
        return np.asarray(shifted, np.float32)

    def _embedded(self, texts: list[str]) -> NDArray[np.float32]:
        """Texts as vectors of length 1, by the model that the recipe names and by no other."""
        from phaselabel.embedding.texts import digest_of_model, embed_texts

        if self.embed_digest and digest_of_model(self.embed) != self.embed_digest:
            raise ValueError(
                f"The text model {self.embed} has other weights than the one that the labels were found "
                "with; use that one, or label again."
            )
        return embed_texts(texts, self.embed)

    def _directions(self, name: str, texts: list[str], learn: bool) -> NDArray[np.float32]:
        """TF-IDF along its leading directions, in rows of length 1: their distances follow the cosine."""
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
        projected = rows.toarray() if directions is None else rows @ directions.T
        return np.asarray(normalize(np.asarray(projected, np.float32)), np.float32)


def _vectors(column: pa.Array, name: str, table: Table, above: list[Any]) -> NDArray[np.floating[Any]]:
    """A column of lists as a matrix, in single precision where its numbers are at most that wide."""
    values = vectors_of(
        column,
        f"Column {name!r} of {table.path.name}",
        width=next((block.shape[1] for block in above if len(block)), None),
        first_row=sum(map(len, above)),
    )
    return values.astype(np.float32 if values.dtype.itemsize <= 4 else np.float64)


def _joined(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    blocks = [block for block in blocks if len(block)] or blocks[:1]
    return np.concatenate(blocks) if len(blocks) > 1 else blocks[0]


def _spread(values: NDArray[Any], scale: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Centre and spread of every feature; the deviation is used where the quartiles are equal."""
    unit = _unit(np.abs(values).max(axis=0, initial=0))
    values = values if (unit == 1).all() else values / unit
    centre, spread = values.mean(axis=0, dtype=np.float64), values.std(axis=0, dtype=np.float64)
    if scale == "robust":
        low, centre, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        # The quartiles of a normal variable are 1.349 deviations apart.
        spread = np.where(high > low, (high - low) / 1.349, spread)
    return centre * unit, np.where(spread > 0, spread * unit, 1.0)


def _unit(largest: NDArray[Any]) -> NDArray[np.float64]:
    """A power of two for every feature, 1 for usual ones: their squares neither overflow nor vanish."""
    exponents = np.frexp(np.asarray(largest, np.float64))[1]
    return np.where(np.abs(exponents) > MOST_EXPONENT, np.ldexp(1.0, np.clip(exponents, -1000, 1000)), 1.0)


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
        raise ValueError(f"Column {name!r} holds numbers with another decimal mark; {OTHER_MARK}.")
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
        "comma": f"numbers with another decimal mark; {OTHER_MARK}",
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
