import re

import pytest

from phaselabel.paper import RECIPES
from phaselabel.paper.problem import Experiment
from phaselabel.paper.remarks import REMARKS
from phaselabel.paper.results import summarize
from phaselabel.paper.runs import make_runs


def computed(name, seed):
    experiment = Experiment(RECIPES[name], seed)
    return summarize(experiment, make_runs(experiment, 2))["notes"][: len(REMARKS[name])]


@pytest.mark.parametrize("name", sorted(REMARKS))
def test_figures_in_remarks_are_those_of_the_run(name):
    """Another seed gives other figures, and the number of runs is that of the run."""
    first, other = computed(name, 0), computed(name, 1)
    assert len(first) == len(REMARKS[name])
    for one, two in zip(first, other, strict=True):
        assert one != two
        assert "2 runs" in one


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_notes_hold_no_measured_figure(recipe):
    """A note is printed whatever the seed: per cents in it would be typed in."""
    for note in (*recipe.notes, recipe.main_reading):
        assert not re.search(r"\d\s?%|\d\.\d(?! s a segmentation)", note), note
