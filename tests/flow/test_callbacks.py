import sys

import pytest

import phaselabel as pl

GRAPH = pl.Graph.from_weights([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_progress_shows_sweeps_and_energy(capsys):
    progress = pl.Progress(total=30, description="labelling")
    pl.minimize(GRAPH, [0, -1, 1], callbacks=progress, max_iter=30, tol=0)
    progress.close()
    shown = capsys.readouterr().err
    assert "labelling" in shown
    assert "energy=" in shown


def test_progress_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"phaselabel\[progress\]"):
        pl.Progress()


def test_snapshots_keep_what_was_asked_for():
    snapshots = pl.Snapshots([0, 12, 10**6])
    pl.minimize(GRAPH, [0, -1, 1], callbacks=snapshots, max_iter=50, tol=0, every=5)
    assert sorted(snapshots.states) == [0, 12]
    assert snapshots.states[0].arm.tolist() == [0, -1, 1]


@pytest.mark.parametrize("sweeps", ["ab", [0, -1], [1.5], 3.5, None])
def test_sweeps_that_are_none_are_refused(sweeps):
    with pytest.raises(ValueError, match="A sweep of Snapshots must be a whole number"):
        pl.Snapshots(sweeps)
    with pytest.raises(ValueError, match="total must be a whole number"):
        pl.Progress(total="many")
