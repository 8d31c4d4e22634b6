"""Where commands print: on a terminal, as wide as that is, or into a pipe or file, whose lines are never wrapped."""

import os

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

WIDE = 1_000_000
"""Characters of a line that is not wrapped."""


def stdout(quiet: bool = False) -> Console:
    """A console on standard output. COLUMNS in the environment sets its width, terminal or not."""
    console = Console(quiet=quiet)
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = WIDE
    return console


def print_framed(console: Console, title: str, body: Text, border: str = "none") -> None:
    """Print a text in a frame under its title; off a terminal as `title: text`, which can be searched and cut."""
    if console.is_terminal:
        console.print(Panel(body, title=Text(title), title_align="left", expand=False, border_style=border))
    else:
        console.print(Text.assemble(title, ": ", body))
