"""A document of results and the pictures in, one Markdown page and one self-contained HTML page out."""

import base64
import html
import re
import struct
from collections.abc import Sequence
from typing import Any

from phaselabel.paper.figures import Figure

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
  tables have k-means, which knows no labels, and its own method in one column, so most likely all.
- **paper's run**: the printed update from a random start, with the printed step and number of sweeps.
  **printed energy**: the gradient of the printed energy, which counts each pair twice and so has twice
  the smoothing of the printed update; that is ε·√2, μ/√2 and dt·√2 in our form, exactly. **ours**: the
  paper's graph, ε and μ, with this package's defaults for everything else (start at the hub, a step for
  each vertex, stop when done). **nothing set**: `GinzburgLandauClassifier()`, which takes ten neighbours,
  ε = 1 and μ = 30 whatever the data.
- **N** counts other points, never the point itself. All graphs are exact, and real data are searched
  once for all runs.
- Times are seconds of the processor, medians over the runs, so that they don't depend on what else the
  machine was doing. Every method had one thread: on a quiet machine its time is what the clock shows.
  **graph** is one search for the largest N of the experiment, the cores' seconds added up, and the
  weights; **run** is all that follows. The eigenvectors of spectral clustering are found once where the
  points are fixed, as the graph is.
- ***reported***: figures of the paper, or cited by it, on its machine and draws; nothing in that column
  was measured here.
- Each run draws points, labels, start and clustering from four independent random streams. Nothing was
  tuned on these draws.
- Baselines: scikit-learn with its defaults on the labelled rows, or on the same graph for spectral
  clustering (k-means on the first K eigenvectors of L_s) and `LabelSpreading`. k-means takes the best of
  ten starts, and one start above 10,000 points. Clusters get the names that make most points right.
"""


def markdown(doc: dict[str, Any], figures: dict[str, Sequence[Figure]], folder: str = "paper") -> str:
    """The page for the repository: tables, and links to the pictures that may be shared."""
    parts = ["# The paper, reproduced", INTRODUCTION + "\n" + overview(doc), READING]
    for experiment in doc["experiments"]:
        parts.append(section(experiment))
        parts += [
            f"![{figure.caption}]({folder}/{figure.name}.png)\n\n*{figure.caption}*\n"
            for figure in figures.get(experiment["experiment"], ())
            if figure.shareable
        ]
    parts += [f"## {name}\n\nNot run: {why}\n" for name, why in doc["absent"].items()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def overview(doc: dict[str, Any]) -> str:
    """The main figures in one table."""
    rows = [
        [
            experiment["title"],
            *(
                _pair(_row(experiment, variant))
                for variant in ("paper", "printed-energy", "ours", "defaults")
            ),
            (_reported(experiment, "paper") or _reported(experiment, "binary") or "pictures").split(",")[0],
        ]
        for experiment in doc["experiments"]
    ]
    heads = ("accuracy, %", "paper's run", "printed energy", "ours", "nothing set", "*reported*")
    return _table(heads, rows) + "\n\nMeans: of the unlabelled points / of all points.\n"


def section(experiment: dict[str, Any]) -> str:
    """One experiment: its recipe, its table, where it differs from the print and why."""
    lines = [
        f"## {experiment['title']}",
        f"{experiment['points']:,} points, {experiment['classes']} classes, {experiment['labels']:,} labels; "
        f"{experiment['recipe']}. {experiment['results'][0]['runs']} runs, seed {experiment['seed']}.",
        table(experiment),
    ]
    remarks = [*differences(experiment), *experiment["notes"]]
    lines += ["\n".join(f"- {remark}" for remark in remarks)] if remarks else []
    stood = experiment["ran_on"]
    lines.append(
        f"Ran on {stood['machine']}, processes side by side: {stood['processes']}; {stood['versions']}."
    )
    return "\n\n".join(lines) + "\n"


def table(experiment: dict[str, Any]) -> str:
    """Every method that was run, then what is only cited."""
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
    run = {row["variant"] for row in experiment["results"]}
    rows += [
        [cited["method"], *["–"] * 7, _reported(experiment, variant)]
        for variant, cited in experiment["reported"].items()
        if variant not in run
    ]
    return _table(COLUMNS, rows)


def differences(experiment: dict[str, Any]) -> list[str]:
    """A sentence for every printed figure of the paper's own method that our run of it misses."""
    sentences = []
    for variant in ("paper", "paper-adaptive"):
        cited = experiment["reported"].get(variant)
        rows = [row for row in experiment["results"] if row["variant"] == variant]
        for row in rows if cited else ():
            gap = row["accuracy"]["mean"] - cited["accuracy"]
            gap_all = row["accuracy_all"]["mean"] - cited["accuracy"]
            reading = f" with N = {row['n_neighbors']} others" if len(rows) > 1 else ""
            verdict = "agree" if min(abs(gap), abs(gap_all)) <= 0.3 else "disagree"
            sentences.append(
                f"{row['title']}{reading} and the print {verdict}: "
                f"{row['accuracy']['mean']:.2f} of the unlabelled and "
                f"{row['accuracy_all']['mean']:.2f} of all points against {cited['accuracy']:.1f} "
                f"({gap:+.2f}, {gap_all:+.2f})."
            )
    return sentences


def web_page(doc: dict[str, Any], figures: dict[str, Sequence[Figure]]) -> str:
    """The whole report with all pictures in one file."""
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
    kind = ' class="wide"' if width > 2 * height else ""  # scrolls on a narrow screen, rather than shrinks
    image = f'<img{kind} alt="{caption}" src="data:image/png;base64,{data}">'
    return f'<figure><div class="scroll">{image}</div><figcaption>{caption}</figcaption></figure>'


def _to_html(text: str) -> str:
    """The few forms of Markdown that this page uses: headings, tables, lists, paragraphs."""
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
    """A variant's row on the experiment's main graph."""
    rows = [row for row in experiment["results"] if row["variant"] == variant]
    main = [row for row in rows if row["n_neighbors"] == experiment["main_n_neighbors"]]
    return (main or rows or [None])[0]


def _mean(row: dict[str, Any]) -> str:
    spread = f" ({row['accuracy']['std']:.2f})" if row["runs"] > 1 else ""
    return f"{row['accuracy']['mean']:.2f}{spread}"


def _pair(row: dict[str, Any] | None) -> str:
    return f"{row['accuracy']['mean']:.2f} / {row['accuracy_all']['mean']:.2f}" if row else "–"


def _reported(experiment: dict[str, Any], variant: str) -> str:
    cited = experiment["reported"].get(variant)
    if not cited:
        return ""
    spread = f" ({cited['std']:g})" if cited["std"] is not None else ""
    best = f", best {cited['best']:.1f}" if cited["best"] is not None else ""
    seconds = f", {cited['seconds']:g} s" if cited["seconds"] is not None else ""
    # One decimal as printed, or two where there are two.
    accuracy = f"{cited['accuracy']:.2f}".removesuffix("0")
    return f"{accuracy}{spread}{best}{seconds}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if value < 1 else f"{value:.1f}"
