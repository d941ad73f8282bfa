"""Subjects in, inputs that reach new code out: atheris watches which lines of the package each input runs.

Only subjects whose input is a file or the arguments of a cheap function are guided: the code that reads them
is Python, which atheris can watch. Needs ``pip install atheris`` (Linux and macOS).
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

#: What is guided: readers and checks that are written in Python.
GUIDED = (
    "table csv",
    "table jsonl",
    "table npy",
    "table npz",
    "image mat",
    "marks csv",
    "marks json",
    "model manifest",
    "graph npz",
    "http drawing",
    "labels encode",
    "Graph.from_edges",
    "Marks",
)
#: Inputs that the search begins with.
SEEDS = 40


def main() -> int:
    """Guide every subject for its share of the time; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--failures", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--state", type=Path, help="a file to which the counts are added")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "SECONDS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("atheris is not installed: pip install atheris. Nothing was guided.")
        return 0
    arguments.failures.mkdir(parents=True, exist_ok=True)
    if arguments.child:
        guide(*arguments.child, arguments.failures.absolute())
    names = [name for name in GUIDED if not arguments.only or name in arguments.only]
    seconds = max(5, round(60 * arguments.minutes / len(names)))
    counts = json.loads(arguments.state.read_text()) if arguments.state and arguments.state.exists() else {}
    ended: list[str] = []
    for name in names:
        words = [sys.executable, str(HERE / "guided.py"), "--failures", str(arguments.failures)]
        done = subprocess.run(
            [*words, "--child", name, str(seconds)], capture_output=True, text=True, errors="replace"
        )
        executed = re.findall(r"number_of_executed_units: (\d+)|Done (\d+) runs", done.stderr)
        counts[name] = counts.get(name, 0) + max((int(a or b) for a, b in executed), default=0)
        covered = re.findall(r"cov: (\d+)", done.stderr)
        print(
            f"{name:24} {counts[name]:>9,} inputs, {covered[-1] if covered else '?':>6} places reached",
            flush=True,
        )
        if done.returncode:
            ended.append(name)
            print(done.stderr[-1500:])
        if arguments.state:
            arguments.state.write_text(json.dumps(counts, indent=1) + "\n")
    failed = sorted(path.name for path in arguments.failures.glob("*.json"))
    print(f"failing inputs kept in {arguments.failures}: {len(failed)}; processes ended: {len(ended)}")
    print("\n".join(f"  {name}" for name in [*failed, *ended]))
    return 1 if failed or ended else 0


def guide(name: str, seconds: str, failures: Path) -> None:
    """Run one subject in this process until its time is over; atheris ends the process."""
    import atheris

    with atheris.instrument_imports(
        include=["phaselabel"], exclude=["phaselabel._kernels"], enable_loader_override=False
    ):
        import phaselabel.io.tables
        import phaselabel.segmentation
        import phaselabel.studio.server
        import phaselabel.studio.strokes  # noqa: F401
        from phaselabel import GinzburgLandauClassifier, Marks, load, read_image, read_marks  # noqa: F401
    from campaign.child import keep_failure
    from campaign.subjects import all_subjects, judged

    subject = all_subjects()[name]
    home = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    corpus = home / "corpus"
    corpus.mkdir()
    for number in range(SEEDS):
        (corpus / str(number)).write_bytes(subject.make(random.Random(f"{name} seed {number}")))

    def one(data: bytes) -> None:
        try:
            verdict = judged(subject, data, home)
        except (
            Exception
        ) as error:  # input that the subject itself cannot read, such as a request that is no JSON
            verdict = f"refused {error}"
        if not verdict.startswith(("accepted", "refused")):
            keep_failure(failures, name, data, verdict)

    options = [
        "-max_len=4096",
        f"-max_total_time={seconds}",
        "-rss_limit_mb=4096",
        "-timeout=60",
        "-print_final_stats=1",
        f"-artifact_prefix={failures}/{name.replace(' ', '-')}-",  # an input that ends the process
    ]
    os.chdir(home)
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
