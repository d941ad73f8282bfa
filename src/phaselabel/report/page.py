"""What a report says in, one self-contained page of HTML out."""

from datetime import UTC, datetime
from pathlib import Path

from phaselabel import __version__
from phaselabel.io.atomic import replacing
from phaselabel.labels import visible
from phaselabel.report.findings import Findings
from phaselabel.report.picture import draw_energy


def render(findings: Findings) -> str:
    """The page; every word that came from a file is escaped.

    Parameters
    ----------
    findings : Findings
        What the page says.

    Returns
    -------
    str
        HTML that loads nothing from elsewhere.
    """
    try:
        import jinja2
    except ImportError:
        raise ImportError("A report needs jinja2; install it with: pip install 'phaselabel[files]'") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "sentence": _sentence, "counted": _counted}
    low, high = findings.held.interval()
    return environment.get_template("report.html").render(
        report=findings,
        curves=draw_energy(findings.energy) if len(findings.energy) else None,
        tallest=max(int(findings.histogram.max(initial=0)), 1),
        low=low,
        high=high,
        now=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
        version=__version__,
    )


def _sentence(words: object) -> str:
    """Words with a capital at the beginning and a full stop at the end."""
    text = str(words)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _counted(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> _counted(1, "row"), _counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'s'[: n != 1]}"


def write(findings: Findings, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the page to a file.

    Parameters
    ----------
    findings : Findings
        What the page says.
    path : path-like
        The file.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.
    """
    page = render(findings)
    with replacing(path, overwrite) as draft:
        draft.write_text(page, encoding="utf-8", errors="replace")
