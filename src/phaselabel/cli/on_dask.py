"""A data set in many files and a cluster in, labels for every row in many files out: ``label --dask``."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phaselabel.cli.console import Console, amount


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to run, and where to keep what is done."""
    group = parser.add_argument_group("on a Dask cluster (data in a folder of Parquet or NPY files, or Zarr)")
    group.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run there, e.g. tcp://scheduler:8786; 'local' starts a cluster here",
    )
    group.add_argument(
        "--checkpoint", metavar="FOLDER",
        help="keep the graph and checkpoints here, where all workers see it (default: a temporary folder)",
    )  # fmt: skip
    group.add_argument("--resume", action="store_true", help="go on from what is in --checkpoint")
    group.add_argument(
        "--sweeps-per-round", metavar="N", default="auto",
        help="sweeps between exchanges; 1 gives the bits of a local run (default: by the measured cost)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Read, label, write, all of it on the workers."""
    from phaselabel.atomic import refuse_existing
    from phaselabel.distributed.sources import open_source, target_kind

    if arguments.out is None:
        raise ValueError("With --dask name the output with --out: a folder called .parquet, .zarr or .npy.")
    _refuse_others(arguments)
    out, kind = Path(arguments.out), target_kind(arguments.out)
    refuse_existing(out, arguments.force)
    console = Console(arguments)
    with console.listening(), console.stage("total"):
        name = arguments.label or "label"
        drop = [*arguments.drop, *([name] if arguments.labels is None else [])]
        source = open_source(arguments.table, arguments.features, drop)
        console.say("table", f"{source.path.name}: {source.described}")
        with _cluster(arguments.dask, console) as client:
            rows, values = _labels(source, name, arguments, client)
            fitted = _fit(source, rows, values, client, console, arguments)
            _write(fitted, source, client, console, name, out, kind, arguments.force)
        done = fitted.outcome
        console.say("flow", done.solution.status)
        console.say("wrote", str(out))
    console.finish(
        out=str(out), rows=done.deal.n_rows, recall=done.recall, edges=done.n_edges, cut_edges=done.n_cut,
        sweeps=done.solution.n_iter, converged=done.solution.converged, unreached=fitted.n_unreached,
        sweeps_per_round=done.sweeps_per_round, workers_lost=done.losses,
        bytes_per_round=round(sum(r["bytes"] for r in done.rounds) / max(len(done.rounds), 1)),
        predicted={str(c): int(size) for c, size in zip(fitted.classes, done.class_sizes)},
    )  # fmt: skip


def _refuse_others(arguments: argparse.Namespace) -> None:
    for option in ("text", "date", "impute", "report", "model"):
        if getattr(arguments, option):
            raise ValueError(f"--{option} works on tables in one file only; leave it out with --dask.")
    if arguments.scale == "robust":
        raise ValueError("--scale robust works on tables in one file only; use standard or none with --dask.")


@contextmanager
def _cluster(address: str, console: Console) -> Iterator[Any]:
    """The cluster at an address, or one of our own; Ctrl-C lets go of what was started, nothing else."""
    from phaselabel import atomic

    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError(
            "Running on a cluster needs Dask; install it with: pip install 'phaselabel[dask]'"
        ) from None
    own = LocalCluster(dashboard_address=":0") if address == "local" else None
    try:
        with Client(own or address, timeout=20) as client:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            memory = sum(w["memory_limit"] or 0 for w in workers)
            console.say("cluster", f"{len(workers)} workers, {amount(memory)}; {client.dashboard_link}")
            atomic.on_abandon(lambda: client.close(timeout=2))
            yield client
    except OSError as error:
        if "Timed out" in str(error) or isinstance(error, TimeoutError):
            raise OSError(f"There is no Dask scheduler at {address}; check --dask.") from None
        raise
    finally:
        if own is not None:
            own.close()


def _labels(source: Any, name: str, arguments: argparse.Namespace, client: Any) -> tuple[Any, Any]:
    """The rows that have a label, and their labels."""
    import numpy as np

    from phaselabel import tables
    from phaselabel.cli.console import opened

    if arguments.labels is None and arguments.label is None:
        raise ValueError("Where are the labels? Name their column with --label, or a file with --labels.")
    marks = set(arguments.unlabeled or ("", "?", "NA", "-1"))
    if arguments.labels is not None:
        table = opened(arguments.labels, arguments)
        n = int(source.X.shape[0])
        values = tables.Labels.of(table, name, n, unlabeled=tuple(marks), other=table).values
        rows = np.flatnonzero([value is not None for value in values])
        return rows, values[rows]
    import dask

    pick = dask.delayed(_known_in, pure=False)
    parts = client.gather(client.compute([pick(p, marks) for p in source.column(name).to_delayed().ravel()]))
    first = np.concatenate([[0], np.cumsum([size for *_, size in parts])])
    rows = np.concatenate([some + start for (some, _, _), start in zip(parts, first)])
    if not len(rows):
        raise ValueError(f"Column {name!r} of {source.path.name} has no label; label some rows.")
    return rows, np.concatenate([values for _, values, _ in parts])


def _known_in(part: Any, marks: set[str]) -> tuple[Any, Any, int]:
    import numpy as np

    known = [v is not None and v == v and str(v).strip() not in marks for v in part]
    rows = np.flatnonzero(known)
    return rows, part[rows], len(part)


def _fit(
    source: Any, rows: Any, values: Any, client: Any, console: Console, arguments: argparse.Namespace
) -> Any:
    import numpy as np

    from phaselabel.distributed.fitting import fit_known
    from phaselabel.distributed.job import Settings
    from phaselabel.labels import encode

    classes, arms = encode(values, None)
    console.say("labels", f"{len(rows):,} of {source.X.shape[0]:,} rows, {len(classes):,} classes")
    X = source.X
    if arguments.scale == "standard":
        import dask

        middle, spread = dask.compute(X.mean(axis=0), X.std(axis=0))
        X = ((X - middle) / np.where(spread > 0, spread, 1)).astype(np.float32)
    rounds = arguments.sweeps_per_round
    with console.sweeps(arguments.max_iter) as watch, _Bars(console) as bars:
        settings = Settings(
            n_neighbors=arguments.neighbors or 10, epsilon=arguments.epsilon, fidelity=arguments.fidelity,
            max_iter=arguments.max_iter, callbacks=[watch],
            sweeps_per_round="auto" if rounds == "auto" else int(rounds),
        )  # fmt: skip
        options = {"checkpoint": arguments.checkpoint, "resume": arguments.resume, "progress": bars}
        fitted = fit_known(X, rows, arms, classes, settings, client, options)
    console.say("graph", f"{fitted!r}, recall {fitted.outcome.recall:.3f}")
    with console.stage("confidence"):
        fitted.confidence(client)
    return fitted


class _Bars:
    """A bar per stage of the job."""

    def __init__(self, console: Console) -> None:
        self._console, self._stage, self._bar = console, "", None

    def __enter__(self) -> "_Bars":
        return self

    def __exit__(self, *error: Any) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._close()
            self._stage = stage
            if not self._console.lively:
                self._console.say(stage, f"{total:,} tasks")
            else:
                from tqdm import tqdm

                self._bar = tqdm(total=total, desc=f"{stage:<12}", unit="task", leave=False, file=sys.stderr)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)


def _write(
    fitted: Any, source: Any, client: Any, console: Console, name: str, out: Path, kind: str, force: bool
) -> None:
    """Every part of the labels by the worker that has it; then one rename."""
    import dask

    from phaselabel.atomic import replacing
    from phaselabel.distributed.sources import write_part
    from phaselabel.tables import found_names

    arm = fitted.outcome.solution.arm
    answers = [fitted.decoded(None), fitted.confidence(client).round(4), arm >= 0]
    if kind != ".parquet" and fitted.n_unreached and fitted.classes.dtype.kind == "U":
        answers[0] = fitted.decoded("")
    with console.stage("writing"), replacing(out, force) as part:
        part.mkdir()
        if kind == ".zarr":
            for label, answer in zip(found_names(name), answers):
                answer.to_zarr(str(part.absolute()), component=label)
            return
        # Parquet goes on standing beside the rows it came from, so answers are cut where the rows were.
        sizes = source.X.chunks[0]
        answers = [answer.rechunk((sizes,)) for answer in answers]
        write = dask.delayed(write_part, pure=False)
        columns = zip(*(answer.to_delayed().ravel() for answer in answers))
        calls = [
            write(str(part.absolute()), kind, i, found_names(name), source.beside(i), *column)
            for i, column in enumerate(columns)
        ]
        client.gather(client.compute(calls))
