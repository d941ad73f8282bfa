"""``phaselabel doctor``: facts for a bug report."""

import json

from phaselabel.cli import main


def test_doctor_shows_versions(capsys):
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "numba" in shown
    assert "kernel cache" in shown


def test_the_same_facts_for_a_program(capsys, monkeypatch, tmp_path):
    (tmp_path / "mnist70k.npz").touch()
    monkeypatch.setenv("PHASELABEL_DATA", str(tmp_path))
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["data_sets"] == ["mnist70k.npz"]
    assert facts["packages"]["numpy"]
