import subprocess
import sys

import pytest

from phaselabel.cli import main


def test_help_and_version(capsys):
    for words, shown in (
        (["--help"], "exit codes"),
        (["--version"], "phaselabel 0"),
        (["doctor", "--help"], "--debug"),
    ):
        with pytest.raises(SystemExit) as done:
            main(words)
        assert done.value.code == 0
        assert shown in capsys.readouterr().out


def test_wrong_command_is_exit_code_2():
    done = subprocess.run([sys.executable, "-m", "phaselabel", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_errors_are_one_sentence(monkeypatch, capsys):
    def fail(arguments):
        raise ValueError("epsilon must be\n  positive.")

    monkeypatch.setattr("phaselabel.cli.doctor.run", fail)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "phaselabel doctor: epsilon must be positive.\n"
    with pytest.raises(ValueError, match="epsilon"):
        main(["doctor", "--debug"])


def test_interrupt_is_exit_code_130(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("phaselabel.cli.doctor.run", interrupt)
    assert main(["doctor"]) == 130
