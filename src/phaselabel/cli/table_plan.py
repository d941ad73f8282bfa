"""A table and a command's words in; what will be labelled, from which labels, by which columns, out."""

import argparse
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaselabel.cli.console import Console, opened

if TYPE_CHECKING:
    from phaselabel.io.tables import Column, Labels, Recipe, Table

#: More classes than the first, most of them with a single label, are probably not a column of labels; nor are
#: more than the second, all of them with a single label.
MANY_CLASSES, MANY_SINGLE = 20, 5


@dataclass(frozen=True)
class TablePlan:
    """What will be done with a table.

    Attributes
    ----------
    table : Table
        The table.
    n_rows : int
        Its rows.
    columns : dict of str to Column
        What its columns hold.
    recipe : Recipe
        Which of them become features, and how.
    labels : Labels
        The given labels.
    name : str
        What the labels are called.
    """

    table: "Table"
    n_rows: int
    columns: dict[str, "Column"]
    recipe: "Recipe"
    labels: "Labels"
    name: str


def make_plan(
    table: "Table",
    arguments: argparse.Namespace,
    survey: Callable[["Table", Sequence[str]], tuple[dict[str, "Column"], int]],
    labels_in: Callable[["Table", str, int, Sequence[str]], "Labels"],
    find: Callable[[str, Collection[str]], list[tuple[str, int]]] | None = None,
    *,
    dry: bool = False,
) -> TablePlan:
    """Read everything once, and refuse a table that can't be used before heavy libraries are loaded.

    Parameters
    ----------
    table : Table
        The table.
    arguments : Namespace
        The options of ``phaselabel label``.
    survey : callable
        Takes the table and the columns to skip; returns what the others hold, and the number of rows.
    labels_in : callable
        Takes the table, a column, the number of rows and the entries that mean "no label"; returns the
        labels.
    find : callable, optional
        Called with a column and some entries of it; returns those that the table has, and their rows.
    dry : bool, default=False
        Whether the plan is only shown: missing numbers are no reason to refuse then.
    """
    from phaselabel.io import tables

    name, other = arguments.label or "label", None
    if arguments.labels is not None:
        other = opened(arguments.labels, arguments)
    elif arguments.label is None:
        raise ValueError(
            f"Which column of {table.path.name} has the labels? Name it with --label (it has "
            f"{tables.listed(map(repr, table.names))}), or a file of labels with --labels."
        )
    else:
        table.require([name])
    tables.refuse_found(table, name)
    skip = [column for column in (name, arguments.id) if column in table.names]
    columns, n_rows = survey(table, skip)
    if n_rows < 2:
        raise ValueError(f"{table.path.name} has {n_rows} rows below its header; there is nothing to label.")
    unlabeled = arguments.unlabeled or ()
    if other is None:
        labels = labels_in(table, name, n_rows, unlabeled)
    else:
        labels = tables.Labels.of(table, name, n_rows, unlabeled, other, arguments.id, find)
    if arguments.missing_labels is not None:
        words = arguments.missing_labels or sorted(tables.MEANS_MISSING)
        labels = labels.without(words)
    if arguments.clean_labels:
        labels = labels.cleaned()
    labels.check(table if other is None else other, name if other is None else None)
    recipe = tables.plan(
        columns, features=arguments.features, drop=arguments.drop, text=arguments.text,
        date=arguments.date, scale=arguments.scale, impute=arguments.impute, dry=dry,
    )  # fmt: skip
    wanted = getattr(arguments, "model_columns", ())  # a dry run has no method
    if wanted and arguments.evidence != "auto":
        raise ValueError("--model-columns names what the models see, so it goes with --evidence auto only.")
    unused = [column for column in wanted if column not in recipe.roles]
    if unused:
        raise ValueError(
            f"--model-columns names {unused[0]!r}, which is not used; name columns among "
            f"{tables.listed(map(repr, recipe.roles))}."
        )
    return TablePlan(table, n_rows, columns, recipe, labels, name)


def announce(console: Console, plan: TablePlan) -> None:
    """Print everything that was decided, before the work starts."""
    from phaselabel.io.tables import describe, listed, look_alikes, missing_words, odd_cells
    from phaselabel.labels import visible

    recipe, labels, name = plan.recipe, plan.labels, plan.name
    console.say("table", f"{plan.table.path.name}: {plan.n_rows:,} rows, {len(plan.table.names):,} columns")
    for heading, words in describe(recipe, plan.columns):
        console.say(heading, words)
    counts = labels.counts.most_common()
    total = len(labels.rows)
    console.say("labels", f"{name}: {total:,} of {plan.n_rows:,} rows, {len(counts):,} classes")
    console.say("", listed((f"{visible(label)} {count:,}" for label, count in counts), 12))
    console.say("unlabelled", "every " + listed((mark or "empty entry" for mark in labels.unlabeled), 9))
    for words in odd_cells(plan.columns, recipe):
        console.note(words)
    if total < 2 * len(counts) and len(counts) > (MANY_CLASSES if total > len(counts) else MANY_SINGLE):
        which = "most classes" if total > len(counts) else "all classes"
        console.note(
            f"{which} of {name!r} have a single label; is it the right column, and are unlabelled "
            "rows marked by empty, ? or NA (--unlabeled)?"
        )
    for (kept, _), *spellings in labels.joined:
        others = listed((f"{label!r} ({count:,})" for label, count in spellings), 5)
        console.note(f"{others} counted as {kept.strip()!r}")
    for group in look_alikes(labels.counts):
        console.note(
            f"{listed((f'{label!r} ({labels.counts[label]:,})' for label in group), 5)} look like one class; "
            "they are kept apart, and --clean-labels joins them"
        )
    gaps = missing_words(labels.counts)
    if gaps:
        looks, none = (
            ("looks like 'no label' and counts as a class", "it is none")
            if len(gaps) == 1
            else ("look like 'no label' and count as classes", "they are none")
        )
        console.note(
            f"{listed(map(repr, gaps), 5)} {looks}; pass --missing-labels {','.join(gaps)!r} if {none}"
        )
    if any(label in ("-1", -1) for label, _ in counts):
        console.note("-1 is taken as a class; if it means 'no label', pass --unlabeled -1")
    console.facts |= {
        "table": str(plan.table.source or plan.table.path), "rows": plan.n_rows, "features": recipe.roles,
        "left_out": recipe.left_out, "scale": recipe.scale, "impute": recipe.impute,
        "labels": {str(label): count for label, count in counts},
    }  # fmt: skip
