"""A document of results and the pictures in, one Markdown page and one self-contained HTML page out."""

import base64
import html
import math
import re
import struct
import textwrap
from collections.abc import Sequence
from typing import Any

from phaselabel.paper.figures import Figure

#: Two means agree if they differ by at most 2 standard errors.
MAX_STANDARD_ERRORS = 2.0

#: The longest line of the Markdown page, tables and links excepted.
LINE_WIDTH = 120

COLUMNS = (
    "method",
    "N",
    "accuracy, %",
    "best",
    "of all points",
    "sweeps",
    "graph, s",
    "run, s",
    "*reported*",
)

INTRODUCTION = """\
Every experiment of section 4 of Garcia-Cardona, Flenner and Percus, *Multiclass Semi-Supervised Learning
on Graphs using Ginzburg-Landau Functional Minimization*, run again. This page and its figures are written
by `phaselabel paper`.
"""

READING = """\
## How to read the tables

- **accuracy**: mean (standard deviation) over the runs of the percentage right among the *unlabelled*
  points; **of all points** counts the labelled ones too. The paper does not say which it counts. Its
  tables have k-means, which knows no labels, and its own method in one column, so most likely all:
  every comparison with the print counts all points.
- A run **agrees** with the print if the two means differ by at most two standard errors of the
  difference. The standard error of the print follows from its standard deviation, its number of runs
  and the rounding of the printed figure.
- **paper's run**: the printed update from a random start, with the printed step and number of sweeps.
  **printed energy**: the gradient of the printed energy, which counts each pair twice and so has twice
  the smoothing of the printed update; that is ε·√2, μ/√2 and dt·√2 in our form, exactly. **ours**: the
  paper's graph, ε and μ, with this package's defaults for everything else (start at the hub, a step for
  each vertex, stop when done). **the graph alone**: `GinzburgLandauClassifier(evidence=None)`, which takes
  ten neighbours, ε = 1 and μ = 30 whatever the data.
- **N** counts other points, not the point itself. The paper's N may count the point, so N - 1 is run
  as well, for the flows and the cited methods. All graphs are exact, and real data are searched once
  for all runs.
- Times are seconds of the processor, medians over the runs, so that they don't depend on what else the
  machine was doing. Every method had one thread: on a quiet machine its time is what the clock shows.
  **graph** is one search for the largest N of the experiment, the cores' seconds added up, and the
  weights; **run** is all that follows. The eigenvectors of spectral clustering are found once where the
  points are fixed, as the graph is.
- ***reported***: figures of the paper, or cited by it, on its machine and draws; nothing in that column
  was measured here.
- Each run draws points, labels, start and clustering from four independent random streams. The
  parameters of the paper's runs are printed ones and were not tuned.
- Baselines: scikit-learn with its defaults on the labelled rows, or on the same graph for spectral
  clustering (k-means on the first K eigenvectors of L_s) and `LabelSpreading`. k-means takes the best of
  ten starts, and one start above 10,000 points. Clusters get the names that make most points right.
"""


def markdown(doc: dict[str, Any], figures: dict[str, Sequence[Figure]], folder: str = "paper") -> str:
    """The page for the repository: tables, and links to the pictures that may be shared."""
    parts = ["# The paper, reproduced", INTRODUCTION + "\n" + overview(doc), READING]
    for experiment in doc["experiments"]:
        parts.append(section(experiment))
        for figure in figures.get(experiment["experiment"], ()):
            caption = _wrapped(f"*{figure.caption}*" + _reason(figure))
            link = f"![{experiment['title']}]({folder}/{figure.name}.png)\n\n"
            parts.append(caption if figure.withheld else link + caption)
    parts += [f"## {name}\n\nNot run: {why}\n" for name, why in doc["absent"].items()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def overview(doc: dict[str, Any]) -> str:
    """The main results in one table."""
    rows, readings = [], []
    for experiment in doc["experiments"]:
        reading = f", N = {experiment['main_n_neighbors']} †" if experiment["main_reading"] else ""
        readings += [f"† {experiment['main_reading']}"] if reading else []
        measured = [
            _with_error(_row(experiment, variant))
            for variant in ("paper", "printed-energy", "ours", "defaults")
        ]
        # Figures for other tasks stand in the tables below, in the row of that task.
        cited = _reported(experiment, "paper") or ("other tasks" if experiment["reported"] else "pictures")
        rows.append([experiment["title"] + reading, *measured, cited.split(",")[0]])
    heads = (
        "accuracy, % of all points",
        "paper's run",
        "printed energy",
        "ours",
        "the graph alone",
        "*reported*",
    )
    note = "Means over the runs ± standard errors; reported: mean (standard deviation)."
    return "\n\n".join([_table(heads, rows), note, *map(_wrapped, readings)]) + "\n"


def section(experiment: dict[str, Any]) -> str:
    """One experiment: its recipe, its table, and its differences from the print."""
    counts = (
        f"{experiment['points']:,} points, {experiment['classes']} classes, {experiment['labels']:,} labels"
    )
    runs = f"{experiment['results'][0]['runs']} runs, seed {experiment['seed']}"
    ran_on = experiment["ran_on"]
    made_with = (
        f"Ran on {ran_on['machine']}, processes in parallel: {ran_on['processes']}; {ran_on['versions']}; "
        f"commit {ran_on['commit'] or 'not known'}, source {ran_on['source']}."
    )
    remarks = [*differences(experiment), experiment["main_reading"], *experiment["notes"]]
    parts = [
        f"## {experiment['title']}",
        _wrapped(f"{counts}; {experiment['recipe']}. {runs}."),
        table(experiment),
        "\n".join(_wrapped(remark, "- ") for remark in remarks if remark),
        _wrapped(made_with),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(experiment: dict[str, Any]) -> str:
    """Every method that was run, then the figures that are only cited."""
    rows = []
    for row in experiment["results"]:
        cited = _reported(experiment, row["variant"])
        rows.append(
            [
                f"**{row['title']}**" if row["variant"] == "ours" else row["title"],
                str(row["n_neighbors"] or "–"),
                _mean(row),
                f"{row['accuracy']['max']:.1f}",
                f"{row['accuracy_all']['mean']:.2f}",
                f"{row['sweeps']:,.0f}" if row["sweeps"] else "–",
                _seconds(row["seconds"]["graph"]),
                _seconds(row["seconds"]["flow"]),
                cited,
            ]
        )
    variants = {row["variant"] for row in experiment["results"]}
    rows += [
        [cited["method"], *["–"] * 7, _reported(experiment, variant)]
        for variant, cited in experiment["reported"].items()
        if variant not in variants
    ]
    return _table(COLUMNS, rows)


def differences(experiment: dict[str, Any]) -> list[str]:
    """A sentence for every run of the paper's own method: by how much it differs from the print.

    All points count, and the difference is judged by standard errors; see ``READING``.
    """
    sentences = []
    pairs = [("paper",) * 2, ("paper-adaptive",) * 2, ("printed-energy", "paper"), ("binary-sizes",) * 2]
    for variant, printed in pairs:
        cited = experiment["reported"].get(printed)
        rows = [row for row in experiment["results"] if row["variant"] == variant]
        sentences += [_difference(row, cited, len(rows) > 1) for row in rows if cited]
    return sentences


def _difference(row: dict[str, Any], cited: dict[str, Any], several_readings: bool) -> str:
    mean, error = row["accuracy_all"]["mean"], row["accuracy_all"]["standard_error"]
    gap = mean - cited["accuracy"]
    name = row["title"] + (f", N = {row['n_neighbors']}" if several_readings else "")
    measured = f"{name}: {mean:.2f} % of all points against {cited['printed']} in print, {gap:+.2f}"
    if error is None or cited["standard_error"] is None:
        return f"{measured}. Without a standard error there is no verdict."
    combined = math.hypot(error, cited["standard_error"])
    verdict = "they agree" if abs(gap) <= MAX_STANDARD_ERRORS * combined else "they disagree"
    return f"{measured}, {abs(gap) / combined:.1f} standard errors of {combined:.2f}: {verdict}."


def web_page(doc: dict[str, Any], figures: dict[str, Sequence[Figure]]) -> str:
    """The report with all pictures in one file."""
    body = [_to_html("# The paper, reproduced\n\n" + INTRODUCTION + "\n" + overview(doc))]
    for experiment in doc["experiments"]:
        body.append(_to_html(section(experiment)))
        body += [_picture(figure) for figure in figures.get(experiment["experiment"], ())]
    body += [_to_html(f"## {name}\n\nNot run: {why}") for name, why in doc["absent"].items()]
    body.append(_to_html(READING))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The paper, reproduced</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;margin:0}
main{max-width:1240px;margin:0 auto;padding:1.5rem}
h1{font-size:1.9rem}h2{margin-top:2.6rem;border-bottom:1px solid #ddd}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;border-bottom:1px solid #e4e4e4;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal}th{background:#f5f5f5}
figure{margin:1.5rem 0}img{max-width:100%;height:auto}figcaption{color:#555;font-size:.9rem}
code{background:#f3f3f3;padding:0 .2rem}ul{padding-left:1.3rem}
@media(max-width:700px){main{padding:1rem}td:first-child code{display:none}
.wide{max-width:none;width:820px}th,td{padding:.3rem .45rem}}
"""


def _picture(figure: Figure) -> str:
    data = base64.b64encode(figure.png).decode("ascii")
    caption = html.escape(figure.caption)
    width, height = struct.unpack(">II", figure.png[16:24])
    kind = ' class="wide"' if width > 2 * height else ""  # a narrow screen scrolls it instead of shrinking it
    image = f'<img{kind} alt="{caption}" src="data:image/png;base64,{data}">'
    return f'<figure><div class="scroll">{image}</div><figcaption>{caption}</figcaption></figure>'


def _to_html(text: str) -> str:
    """Convert the Markdown of this page: headings, tables, lists, paragraphs."""
    blocks = []
    for block in re.split(r"\n\n+", text.strip()):
        if block.startswith("#"):
            level = len(block) - len(block.lstrip("#"))
            blocks.append(f"<h{level}>{_inline(block.lstrip('# '))}</h{level}>")
        elif block.startswith("|"):
            head, _, *rows = [line.strip("|").split("|") for line in block.splitlines()]
            cells = "".join(f"<th>{_inline(cell)}</th>" for cell in head)
            lines = "".join(
                f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in rows
            )
            blocks.append(
                f'<div class="scroll"><table><thead><tr>{cells}</tr></thead>'
                f"<tbody>{lines}</tbody></table></div>"
            )
        elif block.startswith("- "):
            items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            blocks.append("<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>")
        else:
            blocks.append(f"<p>{_inline(block)}</p>")
    return "\n".join(blocks)


def _inline(text: str) -> str:
    text = html.escape(" ".join(text.split()), quote=False)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _row(experiment: dict[str, Any], variant: str) -> dict[str, Any] | None:
    """The row of a variant on the main graph of the experiment."""
    rows = [row for row in experiment["results"] if row["variant"] == variant]
    main = [row for row in rows if row["n_neighbors"] == experiment["main_n_neighbors"]]
    return next(iter(main or rows), None)


def _wrapped(text: str, bullet: str = "") -> str:
    """A paragraph, or an item of a list, in lines of at most ``LINE_WIDTH`` characters."""
    return textwrap.fill(
        text,
        LINE_WIDTH,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _reason(figure: Figure) -> str:
    return f" This figure is in `paper.html` only: {figure.withheld}." if figure.withheld else ""


def _mean(row: dict[str, Any]) -> str:
    spread = f" ({row['accuracy']['std']:.2f})" if row["runs"] > 1 else ""
    return f"{row['accuracy']['mean']:.2f}{spread}"


def _with_error(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    error = row["accuracy_all"]["standard_error"]
    return f"{row['accuracy_all']['mean']:.2f}" + ("" if error is None else f" ± {error:.2f}")


def _reported(experiment: dict[str, Any], variant: str) -> str:
    cited = experiment["reported"].get(variant)
    if not cited:
        return ""
    spread = f" ({cited['std']:g})" if cited["std"] is not None else ""
    best = f", best {cited['best']:.1f}" if cited["best"] is not None else ""
    seconds = f", {cited['seconds']:g} s" if cited["seconds"] is not None else ""
    return f"{cited['printed']}{spread}{best}{seconds}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if value < 1 else f"{value:.1f}"
