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
