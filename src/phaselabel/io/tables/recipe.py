"""A table in, a matrix of features out, by a recipe that can be saved."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from phaselabel.io.tables.columns import NUMBER, as_days, as_numbers, plain
from phaselabel.io.tables.notation import days_written, numbers_or_gaps, written_numbers
from phaselabel.io.tables.table import Table, listed
from phaselabel.io.tables.vectors import vectors_of

#: TF-IDF has a dimension per term; at most this many leading directions of it become features.
TEXT_DIRECTIONS = 128
#: A scaled number is at most this many deviations from the middle: features have 32 bits.
MOST_DEVIATIONS = 1e30
#: Numbers of more than two to this power, or less than its inverse, are scaled before they are squared.
MOST_EXPONENT = 500
#: How a column is written in which a few cells are no numbers.
ODD_CELLS = "odd cells"


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
            cell, other = column.slice(place, 1), "," if table.decimal == "." else "."
            by_other = role == "number" and self._numbers(cell, name, role, other) is not None
            raise ValueError(
                f"Column {name!r} of {table.path.name} must hold {role}s; it holds "
                f"{cell[0].as_py()!r:.40} in row {place + sum(map(len, above)):,}, counted from 0"
                f"{f'; --decimal {other} reads it' if by_other else ''}."
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
        if values is None and (written or decimal == ","):  # thousands as 1.582 are plain to whoever names it
            return written_numbers(column, decimal, scaled=bool(written))
        return values

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
