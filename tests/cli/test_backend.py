import pytest

from phaselabel.cli import main


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_host_that_lets_other_machines_in_is_warned_of(tmp_path, monkeypatch, capsys, host):
    uvicorn = pytest.importorskip("uvicorn")
    served = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: served.append(options["host"]))
    assert main(["backend", "--host", host, "--project", str(tmp_path / "tasks.sqlite")]) == 0
    assert served == [host]
    warned = "lets other machines in. There is no token" in capsys.readouterr().err
    assert warned == (host == "0.0.0.0")
