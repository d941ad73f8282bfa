from phaselabel.paper.problem import Experiment
from phaselabel.paper.recipes import RECIPES
from phaselabel.paper.runs import make_runs


def test_resume_makes_only_what_is_missing(tmp_path):
    experiment = Experiment(RECIPES["swiss-roll"], seed=3)
    kept = tmp_path / "runs.jsonl"
    first = make_runs(experiment, 1, keep=kept)
    # As if stopped in the middle of a line: the last record is lost, the others stay.
    kept.write_text(kept.read_text()[:-20])
    both = make_runs(experiment, 2, keep=kept, resume=True)
    assert both[: len(first) - 1] == first[:-1]
    assert both[len(first) - 1].accuracy == first[-1].accuracy
    assert len(both) == 2 * len(first)
    # Another seed has nothing to keep.
    other = make_runs(Experiment(RECIPES["swiss-roll"], seed=4), 1, keep=kept, resume=True)
    assert other[0].accuracy != first[0].accuracy
