"""A table in, its rows or texts as items out."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.io.photo_folders import PICTURES
from phaselabel.studio.items.folders import shown_picture
from phaselabel.studio.items.source import Items, checked_features, digest
from phaselabel.studio.items.speaking_words import SpeakingWords

#: At most this many characters of a text are shown.
MAX_CHARACTERS = 6000

#: At most this many columns are shown.
MAX_FIELDS = 60

#: At most this many characters of a field are shown.
MAX_FIELD_CHARACTERS = 300

#: Column names, in lower case and without other characters, that stand for labels.
LABEL_NAMES = (
    "truth", "groundtruth", "gt", "truelabel", "trueclass", "label", "labels", "class", "classes", "target",
    "targets",
)  # fmt: skip

#: The endings of columns that exports add.
EXPORTED = ("_predicted", "_confidence", "_answered", "_reached", "_answered_at", "_annotator")


class TableItems(Items):
    """The rows of a table, shown as fields, as one text or as the pictures that a column names.

    A column that looks like labels is not compared unless ``features`` names it: items must not be alike
    because they have the same label.
    """

    def __init__(
        self, path: Path, label: str | None, features: Sequence[str], drop: Sequence[str],
        text: Sequence[str], date: Sequence[str], impute: str | None, reading: Mapping[str, Any],
        prepare: Callable[[Any, Any], None] | None = None, picture: str | None = None,
    ) -> None:  # fmt: skip
        from phaselabel.io import tables

        self.title, self.notes = path.name, []
        self.table = tables.open_table(path, **reading)
        self.fingerprint = digest(path)
        self.table.require([name for name in (label, picture) if name])
        self._folder, self._picture = path.parent, picture
        self.columns, _ = tables.survey(self.table, [label] if label else [])
        drop = [*drop, *([picture] if picture in self.columns else [])]
        suspicious = [name for name in self.columns if _looks_like_labels(name)]
        suspicious = [n for n in suspicious if n not in (*features, *drop, *text, *date)]
        if features or len(suspicious) == len(self.columns):
            suspicious = []
        self.recipe = tables.plan(
            self.columns, features=features, drop=[*drop, *suspicious], text=text, date=date, impute=impute
        )
        for name in suspicious:
            self.recipe.left_out[name] = f"looks like labels; --label {name} starts from them"
            self.notes.append(
                f"Column {name!r} looks like labels, so items are not compared by it; start from these "
                f"labels with --label {name}, or name the columns to compare with --features."
            )
        if prepare is not None:
            prepare(self.table, self.recipe)
        self.description = list(tables.describe(self.recipe, self.columns))
        self.X = checked_features(self.recipe.fit_transform(self.table), path)
        self._text = list(text)
        self._words: SpeakingWords | None = None
        shown = self._text or self.table.names
        self._cells = {
            name: self.table.column(name).to_pylist()
            for name in shown
            if name not in self.columns or self.columns[name].kind not in ("vector", "nested")
        }
        self.label = label or "label"
        self.known_labels = {}
        if label:
            values, marks = self.table.column(label).to_pylist(), tables.unlabeled_in(self.table)
            known = ((i, v) for i, v in enumerate(values) if not tables.means_unlabeled(v, marks))
            self.known_labels = {i: str(v) for i, v in known}

    def view(self, row: int) -> dict[str, Any]:
        """Return the text or the fields of a row."""
        item: dict[str, Any] = {"row": row, "caption": f"row {row}"}
        if self._picture:
            return {**item, "kind": "image", "caption": str(self._cells[self._picture][row])}
        if len(self._text) == 1:
            text = str(self._cells[self._text[0]][row] or "")[:MAX_CHARACTERS]
            return {**item, "kind": "text", "text": text}
        cells = list(self._cells.items())[:MAX_FIELDS]
        fields = [[name, str(values[row])[:MAX_FIELD_CHARACTERS]] for name, values in cells]
        return {**item, "kind": "row", "fields": fields}

    def picture(self, row: int, large: bool = False) -> bytes:
        """Return the picture that a row names: a file in the folder of the table, or deeper."""
        if not self._picture:
            return super().picture(row, large)
        name, folder = str(self._cells[self._picture][row]), self._folder.resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or path.suffix.lower() not in PICTURES:
            raise ValueError(f"{name!r:.80} is not a picture in the folder of {self.title}.")
        return shown_picture(path, large)

    def speaking(self, row: int, members: NDArray[np.bool_]) -> list[list[int]]:
        """Return the places of the words of a text that speak for a class."""
        if len(self._text) != 1 or self._picture:
            return []
        if self._words is None:
            texts = self._cells[self._text[0]]
            self._words = SpeakingWords([str(text or "")[:MAX_CHARACTERS] for text in texts])
        return self._words.places(row, members)

    def matching(self, text: str, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of the rows that contain a text in a column that is shown, in any case of letters."""
        wanted, cells = text.casefold(), list(self._cells.values())
        return rows[[any(wanted in str(c[row]).casefold() for c in cells) for row in rows.tolist()]]


def _looks_like_labels(name: str) -> bool:
    return re.sub(r"[^a-z]", "", name.lower()) in LABEL_NAMES or name.lower().endswith(EXPORTED)
