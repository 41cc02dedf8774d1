"""Colours of a picture on light and on dark ground.

A shape carries its light colours itself, so that every viewer can draw it. Where a viewer knows that its
reader wants a dark page, a style sheet puts a dark colour in place of each. The names of its classes are the
light colours, so several pictures on one page agree.
"""

from __future__ import annotations

import colorsys

GROUND = "#ffffff"


class Colours:
    """The colours that a picture uses, each noted when it is asked for."""

    def __init__(self) -> None:
        self._fills: set[str] = set()
        self._lines: set[str] = set()

    def look(self, fill: str = "", line: str = "", **others: str) -> dict[str, str]:
        """Return the attributes of a shape with an area and an outline of these colours."""
        made, classes = {}, []
        if fill:
            self._fills.add(fill)
            made["fill"] = fill
            classes.append(f"sg-f{fill[1:]}")
        if line:
            self._lines.add(line)
            made["stroke"] = line
            classes.append(f"sg-l{line[1:]}")
        return {
            "class": " ".join(classes),
            **made,
            **{name.replace("_", "-"): text for name, text in others.items()},
        }

    def rim(self, ground: str) -> dict[str, str]:
        """Return the attributes of a rim around text, in the colour of the area that it is on."""
        self._fills.add(ground)
        return {"class": f"sg-r{ground[1:]}", "stroke": ground, "stroke-width": "3", "paint-order": "stroke"}

    def ink(self, colour: str) -> dict[str, str]:
        """Return the attributes of text, or of the head of an arrow, in the colour of a line."""
        self._lines.add(colour)
        return {"class": f"sg-i{colour[1:]}", "fill": colour}

    def sheet(self) -> str:
        """Return the style sheet for a dark page."""
        rules = []
        for fill in sorted(self._fills):
            dark = dark_fill(fill)
            rules.append(f".sg-f{fill[1:]}{{fill:{dark}}}.sg-r{fill[1:]}{{stroke:{dark}}}")
        for line in sorted(self._lines):
            dark = dark_line(line)
            rules.append(f".sg-l{line[1:]}{{stroke:{dark}}}.sg-i{line[1:]}{{fill:{dark}}}")
        return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"


def dark_fill(colour: str) -> str:
    """Return the colour of an area on dark ground: of the same hue, darker the lighter it was.

    >>> dark_fill("#ffffff")
    '#1a1a1a'
    """
    hue, light, saturation = _parts(colour)
    return _colour(hue, 0.1 + 0.9 * (1 - light), 0.45 * saturation)


def dark_line(colour: str) -> str:
    """Return the colour of a line or of text on dark ground: of the same hue, lighter the darker it was.

    >>> dark_line("#000000")
    '#ffffff'
    """
    hue, light, saturation = _parts(colour)
    return _colour(hue, 1 - 0.62 * light, min(saturation, 0.75))


def contrast(a: str, b: str) -> float:
    """Return the ratio of contrast of two colours after WCAG 2: 21 for black on white, 1 for equal ones."""
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = map(linear, _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = bytes.fromhex(colour[1:])
    return red / 255, green / 255, blue / 255


def _parts(colour: str) -> tuple[float, float, float]:
    return colorsys.rgb_to_hls(*_rgb(colour))


def _colour(hue: float, light: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, light, saturation))
