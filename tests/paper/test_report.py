import pytest

from phaselabel.paper import RECIPES, report
from phaselabel.paper.figures import COWS_WITHHELD, Figure
from phaselabel.paper.results import reported


def row(mean_all, standard_error, *, mean=50.0, variant="paper", n_neighbors=3, title="paper's run"):
    spread = {"std": 1.0, "min": 0.0, "max": 100.0}
    return {
        "variant": variant,
        "title": title,
        "n_neighbors": n_neighbors,
        "runs": 100,
        "accuracy": {"mean": mean, "standard_error": 0.1, **spread},
        "accuracy_all": {"mean": mean_all, "standard_error": standard_error, **spread},
        "sweeps": 1000.0,
        "seconds": {"graph": 0.1, "flow": 0.1},
    }


def experiment(name, *results, notes=()):
    recipe = RECIPES[name]
    return {
        "experiment": name,
        "title": recipe.title,
        "recipe": recipe.description,
        "points": 1500,
        "classes": 6,
        "labels": 150,
        "seed": 0,
        "main_n_neighbors": recipe.n_neighbors[0],
        "main_reading": recipe.main_reading,
        "results": list(results),
        "reported": {variant: reported(cited) for variant, cited in recipe.reported.items()},
        "notes": list(notes),
        "ran_on": {"machine": "m", "processes": 1, "versions": "v", "commit": "c" * 40, "source": "d" * 16},
    }


@pytest.mark.parametrize(
    ("mean_all", "standard_error", "verdict"),
    [(93.3, 0.13, "they agree"), (92.7, 0.17, "they disagree"), (92.7, 0.5, "they agree")],
)
def test_agreement_is_judged_by_standard_errors(mean_all, standard_error, verdict):
    """COIL prints 93.2 (1.27) over 100 runs: a standard error of 0.13."""
    (sentence,) = report.differences(experiment("coil", row(mean_all, standard_error)))
    assert verdict in sentence
    assert f"{mean_all - 93.2:+.2f}" in sentence


def test_only_all_points_are_compared_with_the_print():
    """Right on the unlabelled points and wrong on all of them is no agreement."""
    (sentence,) = report.differences(experiment("coil", row(95.0, 0.1, mean=93.2)))
    assert "they disagree" in sentence
    assert "93.20" not in sentence


def test_one_run_has_no_verdict():
    (sentence,) = report.differences(experiment("coil", row(93.2, None)))
    assert "no verdict" in sentence
    assert "agree" not in sentence


def test_every_reading_and_the_printed_energy_are_compared():
    rows = [
        row(93.0, 0.1, n_neighbors=n, variant=variant)
        for n in (3, 4)
        for variant in ("paper", "printed-energy")
    ]
    sentences = report.differences(experiment("coil", *rows))
    assert len(sentences) == 4
    assert sum("N = 4" in sentence for sentence in sentences) == 2


def test_the_overview_says_that_the_reading_of_coil_was_chosen():
    doc = {"experiments": [experiment("coil", row(93.0, 0.1)), experiment("mnist", row(97.0, 0.01))]}
    page = report.overview(doc)
    assert "COIL: 1,500 images, six classes, N = 3 †" in page
    assert "chosen as the main reading because it is nearer to the print" in " ".join(page.split())
    assert page.count("†") == 2


def test_supervised_results_on_digits_are_cited_as_printed():
    table = report.table(experiment("mnist", row(97.0, 0.01)))
    ranges = ["88", "92.3–98.74", "95.0–97.17", "95.3–99.65", "96.4–96.7", "98.75–98.82", "98.6–99.32"]
    cited = [line for line in table.splitlines() if line.startswith("| supervised")]
    assert [line.split("|")[-2].strip() for line in cited] == ranges


def test_a_figure_that_may_not_be_published_is_named_with_the_reason():
    doc = {"experiments": [experiment("cows", row(97.0, 0.1))], "absent": {}}
    png = b"\x89PNG\r\n\x1a\n" + bytes(8) + (40).to_bytes(4, "big") + (30).to_bytes(4, "big")
    figures = {"cows": [Figure("cows", "Cows.", png, COWS_WITHHELD)]}
    page = report.markdown(doc, figures)
    assert "cows.png" not in page
    assert "in `paper.html` only: the picture is from" in " ".join(page.split())
    assert "data:image/png;base64" in report.web_page(doc, figures)


def test_lines_of_the_page_are_short():
    long = "A remark of many words. " * 20
    doc = {"experiments": [experiment("coil", row(93.0, 0.1), notes=[long])], "absent": {}}
    page = report.markdown(doc, {"coil": [Figure("coil", long, b"")]})
    assert max(len(line) for line in page.splitlines() if not line.startswith("|")) <= 120
    assert " ".join(page.split()).count("A remark of many words.") == 40
