"""A table in many files and a cluster in, labels for every row in many files out: ``--dask``."""

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from phaselabel.cli import embedding
from phaselabel.cli.console import (
    Console,
    amount,
    given_files,
    positive,
    refuse_clashes,
    say_abstained,
)
from phaselabel.cli.method import unfitted
from phaselabel.cli.table_plan import TablePlan, announce, make_plan

if TYPE_CHECKING:
    from phaselabel.distributed.sources import Source
    from phaselabel.io.tables import Labels


#: Saves the model and writes the report, if they are wanted.
Keep = Callable[[Console, Any, Any, TablePlan, argparse.Namespace], Any]


def add_cluster_argument(parser: argparse.ArgumentParser) -> Any:
    """Add ``--dask``; return its group."""
    group = parser.add_argument_group("on a Dask cluster (data in a folder of Parquet or NPY files, or Zarr)")
    group.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="the cluster, e.g. tcp://scheduler:8786; 'local' starts one on this machine",
    )
    return group


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    group = add_cluster_argument(parser)
    group.add_argument(
        "--checkpoint", metavar="FOLDER",
        help="a folder or address (s3://...) that all workers see, for the graph and checkpoints (default: "
        "a temporary folder)",
    )  # fmt: skip
    group.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    group.add_argument(
        "--sweeps-per-round", metavar="N", default="auto", type=_rounds,
        help="sweeps between exchanges; 1 gives the bits of a local flow (default: by measured cost)",
    )  # fmt: skip


def _rounds(word: str) -> int | Literal["auto"]:
    """The type of --sweeps-per-round."""
    return "auto" if word == "auto" else positive(word)


def refuse_without_cluster(arguments: argparse.Namespace) -> None:
    """Refuse options that say how a cluster works, where none is named."""
    if arguments.resume or arguments.checkpoint or arguments.sweeps_per_round != "auto":
        raise ValueError(
            "--checkpoint, --resume and --sweeps-per-round belong to --dask; name the cluster, or 'local'."
        )


def run(arguments: argparse.Namespace, keep: Keep) -> None:
    """Read, print the plan, label, write; the workers do the work."""
    from phaselabel.distributed import columns
    from phaselabel.distributed.sources import open_source
    from phaselabel.distributed.tasks import Tasks

    _refuse_others(arguments)
    kind = _checked_out(arguments, arguments.label or "label")
    console = Console(arguments)
    with console.listening(), console.stage("total"):
        source = open_source(arguments.table)
        with _cluster(arguments.dask, console) as client, _Bars(console) as bars:
            tasks = Tasks(client, bars)
            plan = make_plan(
                source,
                arguments,
                lambda table, skip: columns.survey(source, skip, tasks),
                lambda table, name, n_rows, marks: columns.labels_in(source, name, marks, tasks),
                lambda name, entries: columns.rows_with(source, name, entries, tasks),
            )
            announce(console, plan)
            X = columns.features(source, plan.recipe, tasks)
            model = unfitted(arguments, plan)
            with console.sweeps(arguments.max_iter) as model.callbacks:
                fitted = _fit(model, X, plan.labels, client, bars, arguments)
            bars.close()
            for remark in model.remarks_:
                console.note(remark)
            console.say("graph", f"{fitted!r}, recall {fitted.outcome.graph.recall:.3f}")
            with console.stage("confidence"):
                fitted.confidence(client)
            _write(fitted, source, plan, client, console, arguments, kind)
            console.say("wrote", arguments.out)
            sizes, below = fitted.outcome.class_sizes, arguments.abstain_below
            if below is not None:
                sizes = fitted.decided_sizes(below, client)
            held = None
            if arguments.model or arguments.report:
                held = _kept(model, fitted.refusal(), plan, console, arguments, keep)
        done = fitted.outcome
        console.say("flow", done.solution.status)
        if done.opinion is not None:
            console.say("evidence", str(done.opinion.choice))
        abstained = int(done.class_sizes.sum() - sizes.sum())
        say_abstained(console, abstained, below)
        if held is not None:
            console.say("accuracy", str(held))
        for path in filter(None, (arguments.report, arguments.model)):
            console.say("wrote", path)
    console.finish(
        out=arguments.out, table=arguments.table, report=arguments.report, model=arguments.model,
        recall=done.graph.recall, edges=done.graph.n_edges, cut_edges=done.graph.n_cut,
        sweeps=done.solution.n_iter, converged=done.solution.converged, unreached=fitted.n_unreached,
        sweeps_per_round=done.sweeps_per_round, workers_lost=done.losses, held_out=held and held.facts(),
        bytes_per_round=round(sum(r["bytes"] for r in done.rounds) / max(len(done.rounds), 1)),
        predicted={str(c): int(size) for c, size in zip(fitted.classes, sizes)}, abstained=abstained,
    )  # fmt: skip


def _kept(
    model: Any, refusal: str, plan: TablePlan, console: Console, arguments: argparse.Namespace, keep: Keep
) -> Any:
    """Save the model and write the report; the report of one too large for this process is from a sample."""
    if not refusal:
        whole = model.gathered()
        return keep(console, whole, whole._fit_X, plan, arguments)
    held = None
    if arguments.report:
        held = keep(console, model, None, plan, argparse.Namespace(**(vars(arguments) | {"model": None})))
    if arguments.model:
        raise ValueError(refusal)
    return held


def _refuse_others(arguments: argparse.Namespace) -> None:
    from phaselabel.io.archive import refuse_existing_archive
    from phaselabel.io.atomic import refuse_existing

    # --embed may stand without a value, which is then empty
    given = {"text": arguments.text, "embed": arguments.embed is not None, "graph": arguments.graph}
    for option, is_given in given.items():
        if is_given:
            raise ValueError(f"--{option} works on tables in one file only; leave it out with --dask.")
    written = {"--out": arguments.out, "--report": arguments.report, "--model": arguments.model}
    refuse_clashes(written, given_files(arguments), arguments.table)
    if arguments.report:
        refuse_existing(arguments.report, arguments.force)
    if arguments.model:
        refuse_existing_archive(arguments.model, arguments.force)


def _checked_out(arguments: argparse.Namespace, name: str) -> str:
    """The format of the output; raise where there is none, or something else is there."""
    from phaselabel.distributed.answer_files import is_answer, target_kind
    from phaselabel.distributed.folder import file_system, is_address
    from phaselabel.io.atomic import refuse_existing

    if arguments.out is None:
        raise ValueError("With --dask name the output with --out: a folder called .parquet, .zarr or .npy.")
    kind = target_kind(arguments.out)
    if not is_address(arguments.out):
        owns = partial(is_answer, name=name, kind=kind)
        refuse_existing(Path(arguments.out), arguments.force, folder=True, owns=owns)
        return kind
    files, root = file_system(arguments.out)
    if files.exists(root):
        raise FileExistsError(
            f"{arguments.out} is there already; name another address, or remove it (--force replaces folders "
            "on a disk only)."
        )
    return kind


@contextmanager
def _cluster(address: str, console: Console) -> Iterator[Any]:
    """The cluster at an address, or a local one; Ctrl-C cancels the tasks of this job and no others."""
    from phaselabel.io import atomic

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
    except CancelledError:
        raise OSError(
            f"The connection to the scheduler at {address} broke; start the command again, with --resume "
            "where it has a --checkpoint."
        ) from None
    except OSError as error:
        if "Timed out" in str(error) or isinstance(error, TimeoutError):
            raise OSError(f"There is no Dask scheduler at {address}; check --dask.") from None
        raise
    finally:
        if own is not None:
            own.close()


def _fit(
    model: Any, X: Any, labels: "Labels", client: Any, bars: "_Bars", arguments: argparse.Namespace
) -> Any:
    """Fit the model on the cluster, from the labels that the workers found."""
    from phaselabel.distributed.fitting import fit_known
    from phaselabel.estimators.on_dask import learn, settings_of
    from phaselabel.labels import encode

    classes, arms = encode(labels.values, None)
    settings = settings_of(model, X)
    settings.sweeps_per_round = arguments.sweeps_per_round
    options = {"checkpoint": arguments.checkpoint, "resume": arguments.resume, "progress": bars}
    fitted = fit_known(X, labels.rows, arms, classes, settings, client, options)
    model.dask_options = {"client": client}
    learn(model, X, fitted)
    return fitted


class _Bars:
    """A bar per stage of the job."""

    def __init__(self, console: Console) -> None:
        self._console, self._stage = console, ""
        self._bar: Any = None

    def __enter__(self) -> "_Bars":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
        self._stage, self._bar = "", None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage = stage
            if not self._console.lively:
                self._console.say(stage, f"{total:,} tasks")
            else:
                from tqdm import tqdm

                self._bar = tqdm(total=total, desc=f"{stage:<12}", unit="task", leave=False, file=sys.stderr)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)


def _write(
    fitted: Any,
    source: "Source",
    plan: TablePlan,
    client: Any,
    console: Console,
    arguments: argparse.Namespace,
    kind: str,
) -> None:
    """Have every part written by the worker that holds it; then rename the folder."""
    import dask

    from phaselabel.distributed.answer_files import write_part
    from phaselabel.io.tables import found_names, novel_name

    below, confidence = arguments.abstain_below, fitted.confidence(client)
    reached = (fitted.outcome.solution.arm >= 0) & (confidence >= (below or 0))
    some_without = fitted.n_unreached or below is not None
    as_text = kind != ".parquet" and some_without and fitted.classes.dtype.kind == "U"
    answers = [fitted.decoded("" if as_text else None, below, client), confidence.round(4), reached]
    names = found_names(plan.name)
    if fitted.outcome.far[0]:
        answers, names = [*answers, fitted.novel], [*names, novel_name(plan.name)]
    with console.stage("writing"), _draft(arguments.out, arguments.force, plan.name, kind) as folder:
        if kind == ".zarr":
            for name, answer in zip(names, answers):
                answer.to_zarr(folder, component=name)
            return
        # A Parquet answer is written beside the rows it is about, so it is cut where the rows are.
        sizes = tuple(part.n_rows for part in source.parts)
        columns = [answer.rechunk((sizes,)).to_delayed().ravel() for answer in answers]
        write = dask.delayed(write_part, pure=False)
        calls = [
            write(folder, kind, number, plan.name, plan.labels.type, rows, *blocks)
            for number, (rows, *blocks) in enumerate(zip(source.parts, *columns))
        ]
        client.gather(client.compute(calls))


@contextmanager
def _draft(out: str, force: bool, name: str, kind: str) -> Iterator[str]:
    """The folder to write to, which is renamed at the end; an object store has a mark of the end instead."""
    from phaselabel.distributed.answer_files import is_answer
    from phaselabel.distributed.folder import file_system, is_address
    from phaselabel.io.atomic import replacing

    if is_address(out):
        yield out.rstrip("/")
        if kind != ".zarr":
            files, root = file_system(out)
            files.pipe_file(f"{root}/_SUCCESS", b"")
        return
    owns = partial(is_answer, name=name, kind=kind)
    with replacing(Path(out), force, folder=True, owns=owns) as draft:
        draft.mkdir()
        yield str(draft.absolute())


def predict(arguments: argparse.Namespace, recipe_of: Callable[[dict[str, Any], str], Any]) -> None:
    """Label the rows of a table in many files with a saved model; the workers vote and write."""
    import dask

    from phaselabel.distributed import columns
    from phaselabel.distributed.predicting import on_workers
    from phaselabel.distributed.sources import open_source
    from phaselabel.distributed.tasks import Tasks
    from phaselabel.estimators import saving
    from phaselabel.io import tables

    console = Console(arguments)
    with console.listening(), console.stage("total"):
        model, kept = saving.load_with_extra(arguments.model)
        recipe, name = recipe_of(kept, arguments.model), str(kept["label"])
        embedding.use(recipe, arguments.embed)
        kind = _checked_out(arguments, name)
        source = open_source(arguments.table)
        tables.refuse_found(source, name)
        with _cluster(arguments.dask, console) as client, _Bars(console) as bars:
            X = columns.transformed(source, recipe, Tasks(client, bars))
            console.say("model", f"{arguments.model}: {name}, {len(model.classes_)} classes")
            call, sent = dask.delayed(_predict_part, pure=False), on_workers(model)
            with console.stage("predicting"), _draft(arguments.out, arguments.force, name, kind) as folder:
                calls = [
                    call(sent, rows, folder, kind, number, name, str(kept["label_type"]), part)
                    for number, (rows, part) in enumerate(zip(X.to_delayed().ravel(), source.parts))
                ]
                done = client.gather(client.compute(calls))
        console.say("wrote", arguments.out)
        abstained = sum(unsure for _, _, unsure in done)
        say_abstained(console, abstained, model.abstain_below)
    counts = {str(label): int(n) for label, n in zip(model.classes_, sum(counts for counts, _, _ in done))}
    console.finish(
        table=arguments.table, model=arguments.model, out=arguments.out, rows=source.n_rows,
        predicted=counts, unreached=sum(lost for _, lost, _ in done), abstained=abstained,
    )  # fmt: skip


def _predict_part(
    model: Any, X: Any, folder: str, kind: str, number: int, name: str, label_type: str, beside: Any
) -> tuple[Any, int, int]:
    """Predict and write one part of a table; count the rows of each class, the lost and the unsure ones."""
    import numpy as np
    import pyarrow as pa

    from phaselabel.distributed.answer_files import write_part

    shares = model._shares(X)
    found, arm, confidence = shares.any(axis=1), shares.argmax(axis=1), shares.max(axis=1)
    reached = found & (confidence >= (model.abstain_below or 0))
    types = {"int64": pa.int64(), "double": pa.float64()}
    write_part(
        folder, kind, number, name, types.get(label_type, pa.string()), beside, model.classes_[arm],
        confidence, reached,
    )  # fmt: skip
    counts = np.bincount(arm[reached], minlength=shares.shape[1])
    return counts, int((~found).sum()), int((found & ~reached).sum())
