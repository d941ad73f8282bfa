"""The command line: arguments in, files and printed lines out; a module per command, and what they share.

The module of a command has two functions. ``add_arguments(parser)`` must be quick. ``run(arguments)`` imports
what it needs and returns an exit code or None. Errors that a user can cause are raised as ``ValueError`` or
``OSError`` and printed as one sentence on standard error.
"""

from phaselabel.cli.main import main

__all__ = ["main"]
