import sqlite3
from contextlib import closing

import numpy as np
import pytest

from phaselabel.embedding.vector_cache import VectorCache, key_of


def test_vectors_come_back_and_others_do_not(tmp_path):
    cache = VectorCache(tmp_path / "inner" / "vectors.sqlite")
    keys = [key_of(str(k).encode()) for k in range(1200)]
    assert cache.load(keys) == {}
    cache.keep({key: np.full(3, k, np.float32) for k, key in enumerate(keys[:1100])})
    known = VectorCache(cache.path).load(keys)
    assert set(known) == set(keys[:1100])
    assert known[keys[7]].tolist() == [7, 7, 7]


def test_a_damaged_cache_is_named(tmp_path):
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(b"not a database " * 100)
    with pytest.raises(ValueError, match="delete the file"):
        VectorCache(path).load([key_of(b"")])


def test_damage_in_a_later_page_or_in_a_vector_is_named(tmp_path):
    keys = [key_of(str(k).encode()) for k in range(400)]
    for number, damage in enumerate((b"\xff" * 2000, b"xyz", bytes(8))):
        cache = VectorCache(tmp_path / f"{number}.sqlite")
        cache.keep({key: np.ones(8, np.float32) for key in keys})
        if len(damage) > 8:
            content = bytearray(cache.path.read_bytes())
            content[8192:10192] = damage
            cache.path.write_bytes(content)
        else:
            with closing(sqlite3.connect(cache.path)) as file, file:
                file.execute("update vectors set vector = ? where key = ?", (damage, keys[3]))
        with pytest.raises(ValueError, match="delete the file"):
            cache.load(keys)


def test_vectors_that_cannot_be_kept_are_no_reason_to_stop(tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match=r"can't be kept in .*PHASELABEL_CACHE"):
        VectorCache(tmp_path / "file" / "vectors.sqlite").keep({key_of(b""): np.ones(3, np.float32)})
