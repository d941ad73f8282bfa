import errno
import subprocess
import sys
from unittest.mock import Mock

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["label", "t.csv", "--epsilon", "-1"],
            "--epsilon: must be a number between 1e-06 and 1e+06; got '-1'",
        ),
        (["label", "t.csv", "--epsilon", "nan"], "--epsilon: must be a number"),
        (["label", "t.csv", "--fidelity", "-5"], "--fidelity: must be a number"),
        (["label", "t.csv", "--fidelity", "0"], "--fidelity: must be a number"),
        (["label", "t.csv", "--abstain-below", "2"], "--abstain-below: must be a number between 0 and 1"),
        (
            ["label", "t.csv", "--class-sizes", "u=-1,v=2"],
            "--class-sizes: must name every class once, with a share",
        ),
        (["label", "t.csv", "--class-sizes", "u=1,u=2"], "--class-sizes: must name every class once"),
        (["label", "t.csv", "--class-sizes", "u=nan,v=2"], "--class-sizes: must name every class once"),
        (["label", "t/", "--sweeps-per-round", "x"], "--sweeps-per-round: must be a whole number"),
        (["segment", "t.png", "--patch", "-3"], "--patch: must be a whole number"),
        (["segment", "t.png", "--position", "-3"], "--position: must be a number"),
        (
            ["studio", "t.png", "--port", "99999"],
            "--port: must be a whole number between 0 and 65535; got '99999'",
        ),
        (["backend", "--port", "-1"], "--port: must be a whole number"),
        (["paper", "all", "--seed", "-1"], "--seed: must be a whole number"),
    ],
)
def test_a_wrong_number_is_refused_before_any_file_is_opened(words, said, capsys):
    with pytest.raises(SystemExit) as done:
        main(words)
    assert done.value.code == 2
    assert said in capsys.readouterr().err


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


def test_closed_streams_are_no_fault():
    """The shell closes all three; the first file that is opened must not take the number of one."""
    words = f"{sys.executable} -m phaselabel completion bash <&- >&- 2>&-"
    assert subprocess.run(words, shell=True).returncode == 0


def test_a_full_disk_is_named(monkeypatch, capsys):
    for name, said in (("o.csv", " for o.csv; it was not written"), (None, "")):
        error = OSError(errno.ENOSPC, "No space left on device", name)
        monkeypatch.setattr("phaselabel.cli.doctor.run", Mock(side_effect=error))
        assert main(["doctor"]) == 1
        assert f"no space left on the disk{said}. Free some" in capsys.readouterr().err
