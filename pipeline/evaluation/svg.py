"""Matplotlib figures as SVG that follows the page: its font, its colours, light or dark.

Figures are drawn in stand-in colours, which become CSS variables of the page. Text stays text. Ids are salted and the
date left out, so equal figures give equal bytes. Labels may come from outside: they are never read as math.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

TOKENS = {
    "ink": "#010101", "muted": "#020202", "rule": "#030303", "paper": "#040404", "band": "#050505",
    "base": "#060606", "sft": "#070707", "rft": "#080808", "rl": "#090909", "bad": "#0a0a0a",
}  # fmt: skip
"""Stand-in colour of each CSS variable."""

LIGHT = {
    "ink": "#1c2128", "muted": "#5d6673", "rule": "#dfdfd8", "paper": "#fdfdfb", "band": "#e6ebf2",
    "base": "#9aa1ab", "sft": "#4b5563", "rft": "#b45f06", "rl": "#1d5fd1", "bad": "#b45f06",
}  # fmt: skip
DARK = {
    "ink": "#e7e9ec", "muted": "#9ba4b0", "rule": "#2c323a", "paper": "#13161a", "band": "#242b36",
    "base": "#747d89", "sft": "#b6bec9", "rft": "#f0a04b", "rl": "#74a7ff", "bad": "#f0a04b",
}  # fmt: skip
"""Blue against orange tells apart in every common colour blindness; the greys differ in lightness."""

_STYLE: Any = {
    "svg.hashsalt": "rehearsal", "svg.fonttype": "none", "text.parse_math": False, "font.size": 12,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "axes.edgecolor": TOKENS["rule"], "axes.labelcolor": TOKENS["muted"], "axes.titlecolor": TOKENS["ink"],
    "axes.titlesize": 12, "axes.titlelocation": "left", "axes.titlepad": 10, "axes.axisbelow": True, "axes.grid": True,
    "grid.color": TOKENS["rule"], "grid.linewidth": 0.8, "text.color": TOKENS["ink"],
    "xtick.color": TOKENS["rule"], "xtick.labelcolor": TOKENS["muted"], "xtick.major.size": 0,
    "ytick.color": TOKENS["rule"], "ytick.labelcolor": TOKENS["ink"], "ytick.major.size": 0,
    "legend.frameon": False, "lines.linewidth": 2.0, "lines.solid_capstyle": "round",
}  # fmt: skip


@contextmanager
def drawing() -> Iterator[None]:
    """The house style; draw and call `inline` inside the block."""
    with mpl.rc_context(_STYLE):
        yield


def canvas(width: float, height: float, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of `width` x `height` points (1 point is 1 CSS pixel at full size) with `rows` stacked axes."""
    figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots(rows, 1, squeeze=False, sharex=rows > 1)
    return figure, list(axes[:, 0])


def inline(figure: Figure, name: str, label: str) -> str:
    """`figure` as an `<svg>` element: ids prefixed by `name`, `label` read out by screen readers."""
    text = _raw(figure)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" role="img" aria-label="{escape(label)}" viewBox='
    text = re.sub(r'<svg [^>]*?viewBox=("[^"]*")[^>]*>', rf"{_literal(opening)}\g<1>>", text, count=1)
    return _themed(text)


def standalone(figure: Figure, label: str) -> str:
    """`figure` as an SVG file that carries its own colours for light and dark."""
    text = _themed(_raw(figure))
    style = f"svg{{{css(LIGHT)};background:var(--paper);font-family:system-ui,sans-serif}}"
    dark = f"@media(prefers-color-scheme:dark){{svg{{{css(DARK)}}}}}"
    head = f"<title>{_literal(escape(label))}</title><style>{style}{dark}</style>"
    return re.sub(r"(<svg [^>]*>)", rf"\g<1>{head}", text, count=1)


def _raw(figure: Figure) -> str:
    buffer = StringIO()
    figure.savefig(
        buffer, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
    )
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _themed(text: str) -> str:
    for name, stand_in in TOKENS.items():
        text = text.replace(stand_in, f"var(--{name})")
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"font: (?:(\d{3}|bold) )?([\d.]+px) [^;\"]*", _font, text)
    return re.sub(r"font-family: [^;\"]*; ?", "", text)


def _font(match: re.Match[str]) -> str:
    weight = f"font-weight: {match[1]}; " if match[1] else ""
    return f"{weight}font-size: {match[2]}"


def css(colours: Mapping[str, str]) -> str:
    """CSS declarations of colour variables."""
    return ";".join(f"--{name}:{colour}" for name, colour in colours.items())


def _literal(text: str) -> str:
    return text.replace("\\", r"\\")
