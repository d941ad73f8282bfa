"""``python -m phaselabel``: the command line."""

import sys

from phaselabel.cli import main

sys.exit(main())
