"""Show versions, threads and caches: what a bug report should contain."""

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("phaselabel", "numpy", "scipy", "scikit-learn", "numba", "matplotlib", "tqdm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to set."""


def run(arguments: argparse.Namespace) -> None:
    """Print what is here."""
    import numba

    from phaselabel import _kernels

    print(f"python        {platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in PACKAGES:
        print(f"{package:13} {_version(package)}")
    print(f"threads       {numba.get_num_threads()}")
    print(f"kernel cache  {_kernels.sweep.parallel.stats.cache_path}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
