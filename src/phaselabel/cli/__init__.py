"""The command line: arguments in, files and printed lines out; one module per command.

A command module has two functions: ``add_arguments(parser)``, which must be quick, and ``run(arguments)``,
which imports what it needs and returns an exit code or None. Errors that a user can cause are raised as
``ValueError`` or ``OSError`` and end as one sentence on standard error.
"""

from phaselabel.cli.main import main

__all__ = ["main"]
