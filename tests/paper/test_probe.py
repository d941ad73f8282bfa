"""The probe is the same in every run, and notices a change of the flow."""

import pytest

from phaselabel.few_labels import compete
from phaselabel.flow import presets
from phaselabel.paper.probe import probe
from probes import same_results


@pytest.fixture(scope="module")
def now():
    return probe()


def test_two_probes_agree(now):
    assert now == probe()
    assert {"coil", "ours", "the graph alone", "binary, sizes"} < set(now)


def test_a_change_of_the_step_is_noticed(now, monkeypatch):
    monkeypatch.setattr("phaselabel.flow.block.N_RANGES", 32)
    assert same_results(probe(), now)  # how a sweep is cut into ranges changes no result
    monkeypatch.setitem(presets.PRESETS, "coil", presets.Preset(3, 100, 1000, epsilon=4.0, step=0.0201))
    changed = probe()
    assert not same_results(changed, now)
    assert [name for name in now if not same_results({"": changed[name]}, {"": now[name]})] == ["coil"]


def test_a_change_of_the_spread_is_noticed(now, monkeypatch):
    monkeypatch.setattr(compete, "_stays", lambda graph, arm: 0.3)
    monkeypatch.setattr(compete, "LEAF", 0.25)
    assert not same_results(probe(), now)
