"""The changes that a process made in, what a disk may hold after a loss of power out.

The file system is taken to be one that keeps the order of changes to names (as ext4, XFS, Btrfs and APFS do),
but writes the content of a file at any time, unless it was flushed. So at every moment two disks are played:
on one all changes to names so far have arrived, and files have only what was flushed; on the other only
changes to names up to the last flush of a folder or file have arrived.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Disk:
    """Names and contents: a path leads to a number, and a number to flushed content, None for a folder."""

    names: dict[str, int] = field(default_factory=dict)
    contents: dict[int, bytes | None] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "Disk":
        """What is in a folder before the process begins: everything has been flushed."""
        disk = cls()
        for number, path in enumerate(sorted(folder.rglob("*"))):
            disk.names[str(path)] = number
            disk.contents[number] = None if path.is_dir() else path.read_bytes()
        return disk

    def copy(self) -> "Disk":
        """The same again."""
        return Disk(dict(self.names), dict(self.contents))

    def apply(self, what: str, one: str, other: str) -> None:
        """Make one change."""
        if what in ("create", "folder"):
            number = max(self.contents, default=0) + 1
            self.names[one], self.contents[number] = number, b"" if what == "create" else None
        elif what == "truncate":
            self.contents[self.names[one]] = b""
        elif what == "remove":
            self.names.pop(one, None)
        elif what == "link":
            self.names[other] = self.names[one]
        elif what == "rename":
            self._move(one, other)
        elif what == "exchange":
            self._move(one, f"{one}\0")
            self._move(other, one)
            self._move(f"{one}\0", other)
        elif what == "flush" and one in self.names:
            self.contents[self.names[one]] = Path(other).read_bytes()

    def _move(self, one: str, other: str) -> None:
        for name in [n for n in self.names if n == other or n.startswith(f"{other}/")]:
            if not one.startswith(f"{other}/"):
                del self.names[name]
        for name in [n for n in self.names if n == one or n.startswith(f"{one}/")]:
            self.names[other + name[len(one) :]] = self.names.pop(name)

    def write(self, root: str, target: Path) -> None:
        """Put everything below ``root`` into a folder."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name, number in sorted(self.names.items()):
            if not name.startswith(f"{root}/"):
                continue
            path, content = target / name[len(root) + 1 :], self.contents[number]
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(content)


def disks_after(before: Disk, log: Path) -> list[tuple[str, Disk]]:
    """Every disk that a loss of power may leave, with the change after which it came."""
    disk, settled = before.copy(), before.copy()
    out = [("before anything", before.copy())]
    for number, line in enumerate(log.read_text(encoding="utf-8").splitlines()):
        what, one, other = line.split("\t")
        if what == "write":  # may or may not arrive; what counts is the flush
            continue
        disk.apply(what, one, other)
        if what.startswith("flush"):
            settled = disk.copy()
        out.append((f"change {number}, {what} {Path(one).name}", disk.copy()))
        if what in ("rename", "exchange", "link", "remove"):
            out.append((f"change {number}, names not settled", settled.copy()))
    return out
