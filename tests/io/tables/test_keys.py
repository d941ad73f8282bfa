"""Columns that only name their rows."""

import numpy as np
import pytest

from phaselabel.io.tables import describe, open_table, plan, survey

RNG = np.random.default_rng(0)
SHUFFLED = RNG.permutation(200) + 5000


def luhn(number):
    digits = [int(d) for d in str(number)][::-1]
    total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(digits))
    return f"{number}{-total % 10}"


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("customer_id", RNG.integers(1, 10**6, 200), "under the name of a key"),
        ("customerID", RNG.integers(1, 10**6, 200), "under the name of a key"),
        ("ZIP", RNG.integers(10000, 99999, 200), "under the name of a key"),
        ("x", SHUFFLED, "each once and without gaps"),
        ("x", [f"{n:05}" for n in RNG.integers(1000, 99999, 200)], "zeros before them"),
        ("x", RNG.choice(9 * 10**6, 200, replace=False) + 10**6, "of one length"),
        ("x", [luhn(n) for n in RNG.choice(10**6, 200, replace=False) + 10**9], "with a check digit"),
    ],
)
def test_keys_are_left_out_with_a_reason(tmp_path, name, cells, reason):
    lines = [f"{cell},{value:.3f}" for cell, value in zip(cells, RNG.normal(size=200))]
    (tmp_path / "t.csv").write_text(f"{name},y\n" + "\n".join(lines) + "\n")
    columns, _ = survey(open_table(tmp_path / "t.csv"))
    assert columns[name].kind == "key"
    recipe = plan(columns)
    assert recipe.roles == {"y": "number"}
    assert reason in recipe.left_out[name]
    assert plan(columns, features=[name]).roles == {name: "number"}


def test_words_under_the_name_of_a_key_are_one_too(tmp_path):
    cells = [f"+49 170 {n},{v:.3f}" for n, v in zip(RNG.integers(10**6, 10**7, 200), RNG.normal(size=200))]
    (tmp_path / "t.csv").write_text("home phone,y\n" + "\n".join(cells) + "\n")
    columns, _ = survey(open_table(tmp_path / "t.csv"))
    recipe = plan(columns)
    said = "words under the name of a key, which say nothing of the row; --text 'home phone' uses it"
    assert next(describe(recipe, columns)) == ("key", f"home phone: {said}")
    assert plan(columns, text=["home phone"]).roles["home phone"] == "text"


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age", RNG.integers(18, 90, 200)),
        ("price", RNG.integers(100, 99999, 200)),
        ("width", np.round(RNG.normal(size=200), 3)),
        ("idle", RNG.integers(1, 10**6, 200)),
        ("id", RNG.normal(size=200)),
    ],
)
def test_measurements_are_no_keys(tmp_path, name, cells):
    (tmp_path / "t.csv").write_text(f"{name}\n" + "\n".join(map(str, cells)) + "\n")
    assert survey(open_table(tmp_path / "t.csv"))[0][name].kind == "number"
