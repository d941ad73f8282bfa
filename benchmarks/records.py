"""A measurement's name in, what was measured out: from its file if there is one, so runs can be resumed."""

import hashlib
import json
from pathlib import Path

import phaselabel


class Records:
    """A folder with one small file per measurement.

    Measurements of our own code are filed under a digest of that code: a change makes them anew. Those of
    peers are kept.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        source = Path(phaselabel.__file__).parent
        code = [p.read_bytes() for p in sorted([*source.glob("*.py"), *source.glob("graph/*.py")])]
        self.digest = hashlib.sha256(b"".join(code)).hexdigest()[:10]

    def __call__(self, name, measure, ours=True):
        """The record called ``name``; measured now if there is none and there is a way to ``measure`` it."""
        path = self.folder / f"{name}{'-' + self.digest if ours else ''}.json"
        if path.exists():
            return json.loads(path.read_text())
        if measure is None:
            return None
        record = measure()
        part = path.with_suffix(".part")
        part.write_text(json.dumps(record) + "\n")
        part.replace(path)
        return record
