"""Tables to label, and a way to read them back."""

import csv

import numpy as np


def rows_of(path, **options):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, **options))


def write_customers(path, n=300, seed=0, label_share=0.2):
    """Three groups of customers with every kind of column, and few of their labels."""
    rng = np.random.default_rng(seed)
    names = ["Müller & Söhne", 'the "best"', "two\nlines, one name"]
    truth = []
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["id", "since", "colour", "age", "spent", "letter", "segment"])
        for i in range(n):
            k = int(rng.integers(3))
            truth.append(names[k])
            out.writerow(
                [
                    i,
                    f"2023-{1 + i % 12:02}-11",
                    ["red", "green", "blué"][k if rng.random() < 0.7 else int(rng.integers(3))],
                    f"{30 + 15 * k + rng.normal(0, 3):.2f}",
                    f"{100 + 200 * k + rng.normal(0, 40):.3f}",
                    f'letter {i}, "quoted"\nsecond line ÄÖÜß € {rng.integers(10**6)}',
                    names[k] if i < 6 or rng.random() < label_share else ["", "?", "NA"][i % 3],
                ]
            )
    return truth
