"""Figures of an image benchmark in, its section of docs/benchmarks.md out."""

import time

import numpy as np
from report import write_section

PACKAGES = ("numpy", "numba", "scikit-learn", "scikit-image")


def timed(function, *arguments, **options):
    """The answer and how many seconds it took."""
    started = time.perf_counter()
    answer = function(*arguments, **options)
    return answer, time.perf_counter() - started


def percent(shares):
    """A share, or several as mean (standard deviation), in per cent."""
    shares = 100 * np.asarray(shares)
    return f"{shares:.2f}" if shares.ndim == 0 else f"{shares.mean():.2f} ({shares.std():.2f})"


def slashed(shares):
    """Several shares, in per cent."""
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def recalls(labels, truth, n_classes):
    """The share of every class that was found."""
    return [np.mean(labels[truth == n] == n) for n in range(1, n_classes + 1)]


def section(name, title, text, results):
    """Write one part of the page."""
    write_section(
        f"images-{name}", f"Images: {title}", f"python benchmarks/images.py {name}", text, results, PACKAGES
    )
