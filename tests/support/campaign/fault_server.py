"""Commands in, forked children that run them under faults out: everything is imported once.

Started by ``faults.py`` with the shim loaded. Reads one JSON object per line: the words of a command, the
folder, the fault and, for a signal, the moment; answers with how the child ended.
"""

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Serve until the input ends."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    shim = ctypes.CDLL(sys.argv[1])
    shim.fault_count.restype = ctypes.c_long
    _import_all()
    print("ready", flush=True)
    for line in sys.stdin:
        orders = json.loads(line)
        children = [_started(shim, orders, number) for number in range(orders.get("at_once", 1))]
        answers = [_ended(child, orders) for child in children]
        print(json.dumps(answers[0] if len(answers) == 1 else {"all": answers}), flush=True)


def _import_all() -> None:
    from phaselabel.cli.main import build_parser

    build_parser()

    import phaselabel
    import phaselabel.cli.table_plan
    import phaselabel.io.tables
    import phaselabel.report.page
    import phaselabel.segmentation.export
    import phaselabel.studio.project

    for name in phaselabel.__all__:
        getattr(phaselabel, name)
    _load_kernels()


def _load_kernels() -> None:
    """Run every command once in this process, so that its children need not load compiled kernels."""
    import contextlib
    import io
    import tempfile

    from campaign.faults import _picture, _pictures, _table, commands

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        home = os.getcwd()
        os.chdir(folder)
        _table(Path(folder), 0)
        _pictures(Path(folder), 0)
        _picture(Path(folder), 0)
        Path(folder, "seed").write_text("0")
        for command in commands():
            if command.name != "predict":
                _run(command.words)
        lines = Path("t.csv").read_text().splitlines()
        Path("new.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
        _run(["predict", "m", "new.csv", "--out", "p2.csv", "--quiet"])
        os.chdir(home)


def _started(shim: Any, orders: dict[str, Any], number: int) -> tuple[int, float, str]:
    said = f"{orders['folder']}.said-{number}"
    Path(said).touch()  # a child may be ended before it can
    child = os.fork()
    if child:
        return child, time.monotonic(), said
    out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(out, stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(orders["folder"])
    code = 1
    try:
        if orders.get("log"):
            shim.fault_log(orders["log"].encode(), orders["copies"].encode())
        shim.fault_set(
            orders["folder"].encode(),
            orders.get("what", 0),
            orders.get("error", 0),
            ctypes.c_long(orders.get("at", -1)),
            ctypes.c_long(orders.get("clock", 0)),
        )
        code = _run(orders["words"])
    except KeyboardInterrupt:
        code = 130
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    except BaseException as error:
        os.write(2, f"FOREIGN {type(error).__name__}: {error}\n".encode())
    count = shim.fault_count()
    shim.fault_set(b"", 0, 0, ctypes.c_long(-1), ctypes.c_long(0))
    os.write(2, f"\nCHANGES {count}\n".encode())
    os._exit(code)


def _run(words: list[str]) -> int:
    if words[0] == "!journal":
        return _journal(*words[1:])
    if words[0] == "!save":
        return _save(words[1])
    from phaselabel.cli import main

    return main(words)


def _journal(path: str, sign: str = "") -> int:
    """Record actions of a studio, and say so after each; also by an empty file, if its name is given."""
    from phaselabel.studio.project import Project

    project = Project(path, {"room": "drawing"})
    first = project.version
    for number in range(first, first + 12):
        project.record("class", {"name": f"class {number}"}, f"id {number}")
        os.write(1, f"CONFIRMED {number}\n".encode())
        if sign:
            os.close(os.open(f"{sign}-{number}", os.O_WRONLY | os.O_CREAT, 0o600))
    project.close()
    return 0


def _save(folder: str) -> int:
    """Save a model as a folder and as a zip, and a graph, over earlier ones."""
    import numpy as np

    import phaselabel as pl

    seed = int(Path(folder, "seed").read_text())
    X = np.random.default_rng(seed).normal(size=(60, 3))
    y = np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
    model = pl.GinzburgLandauClassifier(4, evidence=None).fit(X, y)
    model.save(os.path.join(folder, "model"), overwrite=True)
    model.save(os.path.join(folder, "model.zip"), overwrite=True)
    model.graph_.save(os.path.join(folder, "graph.npz"))
    return 0


def _ended(child: tuple[int, float, str], orders: dict[str, Any]) -> dict[str, Any]:
    number, start, said = child
    moment, sent, limit = orders.get("moment"), False, start + orders.get("limit", 300)
    while True:
        done, status = os.waitpid(number, os.WNOHANG)
        if done:
            break
        now = time.monotonic()
        if moment is not None and not sent and now >= start + moment:
            os.kill(number, orders["signal"])
            sent = True
        if now > limit:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            return {"code": None, "said": "stood still", "changes": 0, "seconds": now - start}
        time.sleep(0.002)
    text = Path(said).read_text(encoding="utf-8", errors="replace")
    os.unlink(said)
    changes = int(text.rsplit("CHANGES ", 1)[1]) if "CHANGES " in text else -1
    code = os.waitstatus_to_exitcode(status)
    return {
        "code": code,
        "said": text[-1500:],
        "changes": changes,
        "seconds": time.monotonic() - start,
        "sent": sent,
    }


if __name__ == "__main__":
    main()
