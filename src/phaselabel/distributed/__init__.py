"""Data or a graph beyond one machine in, the same flow on the workers of a Dask cluster out."""

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError:
    raise ImportError(
        "Running on a cluster needs Dask; install it with: pip install 'phaselabel[dask]'"
    ) from None
