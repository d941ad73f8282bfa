"""Inputs that failed once in, the failures that have come back out: run by the tests, in a child process."""

import base64
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from campaign.subjects import all_subjects, judged  # noqa: E402


def main() -> int:
    """Run every kept input, or those of the files that are named."""
    subjects, failed = all_subjects(), 0
    files = [Path(word) for word in sys.argv[1:]] or sorted((HERE / "failures").glob("*.json"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for file in files:
            kept = json.loads(file.read_text(encoding="utf-8"))
            print(file.name, end=" ", flush=True)  # the last name printed is the input that ended the process
            verdict = judged(subjects[kept["subject"]], base64.b64decode(kept["data"]), Path(folder))
            print(verdict, flush=True)
            failed += verdict not in ("accepted", "refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
