"""Show versions, threads, caches and data sets; add this to a bug report."""

import argparse
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

EPILOG = """\
examples:
  phaselabel doctor
  phaselabel doctor --json
"""

PACKAGES = (
    "phaselabel", "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "pyarrow", "tqdm", "jinja2",
    "shtab", "matplotlib",
)  # fmt: skip
#: The extra that installs an optional package.
EXTRAS = {
    "pyarrow": "files", "tqdm": "files", "jinja2": "files", "shtab": "files", "matplotlib": "plot",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    """Print the facts."""
    facts = _facts()
    if arguments.json:
        print(json.dumps(facts, indent=1))
        return
    print(f"python        {facts['python']}")
    for package, found in facts["packages"].items():
        hint = (
            f" (pip install 'phaselabel[{EXTRAS[package]}]')" if found is None and package in EXTRAS else ""
        )
        print(f"{package:13} {found or 'not installed'}{hint}")
    print(f"threads       {facts['threads']} of {facts['cores']} cores, {facts['threading_layer']}")
    print(f"memory        {facts['memory']}")
    print(f"kernel cache  {facts['kernel_cache']} ({facts['kernel_cache_state']})")
    print(f"data sets     {facts['data_home'] or 'PHASELABEL_DATA is not set'}")
    for name in facts["data_sets"]:
        print(f"              {name}")


def _facts() -> dict[str, Any]:
    import numba

    from phaselabel._kernels import flow as kernels

    cache = Path(kernels.sweep.parallel.stats.cache_path)
    home = os.environ.get("PHASELABEL_DATA")
    sets = sorted(p.name for p in Path(home).glob("*.npz")) if home and Path(home).is_dir() else []
    return {
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": {package: _version(package) for package in PACKAGES},
        "threads": numba.get_num_threads(),
        "cores": os.cpu_count(),
        "threading_layer": str(getattr(numba.config, "THREADING_LAYER", "default")),
        "memory": _memory(),
        "kernel_cache": str(cache),
        "kernel_cache_state": _cache_state(cache),
        "data_home": home,
        "data_sets": sets,
    }


def _cache_state(cache: Path) -> str:
    if not cache.is_dir():
        return "empty: the first fit compiles for a few seconds"
    files = [path for path in cache.iterdir() if path.suffix == ".nbc"]
    writable = "" if os.access(cache, os.W_OK) else ", not writable: set NUMBA_CACHE_DIR to a folder that is"
    return f"{len(files)} kernels, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB{writable}"


def _memory() -> str:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{total / 2**30:.1f} GiB"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
