"""A measurement's name in, what was measured out: from its file if there is one, so runs can be resumed."""

import hashlib
import json
from pathlib import Path

import phaselabel

#: What decides the labels; everything else decides what is thought of them.
LABELLING = "_kernels/* graph/* flow/* few_labels/*".split()


class Records:
    """A folder with one small file per measurement.

    Measurements of our own code are filed under a digest of that code: a change makes them anew. Those of
    peers are kept.
    """

    def __init__(self, folder, measuring=True):
        self.folder, self.measuring = Path(folder), measuring
        self.folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, name, measure, code=("*", "*/*")):
        """The record called ``name``; measured now if there is none and there is a way to ``measure`` it.

        ``code`` says which modules of ours it depends on; none is a peer's.
        """
        path = self.folder / f"{name}{digest(code)}.json"
        if path.exists():
            return json.loads(path.read_text())
        if measure is None or not self.measuring:
            return None
        record = measure()
        part = path.with_suffix(".part")
        part.write_text(json.dumps(record) + "\n")
        part.replace(path)
        return record

    def all(self, names, measure, code=("*", "*/*")):
        """The records of several draws, as many as there are; ``measure`` is given the draw."""
        found = (self(name, lambda draw=draw: measure(draw), code) for draw, name in names.items())
        return [record for record in found if record is not None]


def digest(patterns):
    """A few letters that change with the modules of ours that the patterns name."""
    source = Path(phaselabel.__file__).parent
    modules = sorted({path for pattern in patterns for path in source.glob(f"{pattern}.py")})
    text = b"".join(path.read_bytes() for path in modules)
    return f"-{hashlib.sha256(text).hexdigest()[:10]}" if modules else ""
