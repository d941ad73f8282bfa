"""Print a script that completes phaselabel's commands and options in your shell."""

import argparse

EPILOG = """\
examples:
  phaselabel completion bash > ~/.local/share/bash-completion/completions/phaselabel
  phaselabel completion zsh > ~/.zfunc/_phaselabel      (with ~/.zfunc in fpath)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise ImportError(
            "Shell completion needs shtab; install it with: pip install 'phaselabel[files]'"
        ) from None
    from phaselabel.cli.main import build_parser

    print(shtab.complete(build_parser(), arguments.shell))
