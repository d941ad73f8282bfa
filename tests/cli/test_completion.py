"""``phaselabel completion``: a script for the shell."""

import sys

import pytest

from phaselabel.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_script_that_knows_the_commands(shell, capsys):
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    assert "phaselabel" in shown
    assert "inspect" in shown


def test_without_shtab_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert "pip install 'phaselabel[files]'" in capsys.readouterr().err
