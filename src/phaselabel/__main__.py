"""``python -m phaselabel``: the command line."""

import sys

from phaselabel.cli import main

# Processes started side by side import this module anew.
if __name__ == "__main__":
    sys.exit(main())
