"""Colors can be read: contrast as WCAG 2.2 defines it, in light, dark and print."""

import re
from importlib.resources import files

import pytest

TEMPLATES = files("likeforlike.report") / "templates"


def palettes() -> list[dict[str, str]]:
    style = (TEMPLATES / "chart.css").read_text() + (TEMPLATES / "page.css").read_text()
    rules = re.findall(r"\.likeforlike \{([^}]*--paper[^}]*)\}", style)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]+)", rule)) for rule in rules]


def luminance(color: str) -> float:
    digits = color[1:]
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    channels = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_is_the_largest_contrast() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21.0)


@pytest.mark.parametrize("mode", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_and_marks_stand_out(mode: int) -> None:
    colors = palettes()[mode]
    for text in ("ink", "quiet", "a", "b", "c", "e", "warn"):
        assert contrast(colors[text], colors["paper"]) >= 4.5, text
    assert contrast(colors["warn"], colors["warn-wash"]) >= 4.5
    assert contrast(colors["ink"], colors["warn-wash"]) >= 7.0
    assert contrast(colors["ink"], colors["wash"]) >= 7.0
