"""Marks tell methods apart in grey, and colours do for most eyes."""

import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt
import pytest

from likeforlike.errors import InputError
from likeforlike.report.markers import COLOURS, LOOKS, STYLE, Look, looks_of, mark
from tests.report.test_styles import contrast

SVG = "{http://www.w3.org/2000/svg}"


def drawn_alone(look: Look) -> ET.Element:
    return ET.fromstring(f"<g xmlns='{SVG[1:-1]}'>{mark(look, 0.0, 0.0, 500.0)}</g>")[0]


def pairs(path: ET.Element) -> list[tuple[float, float]]:
    """Where the strokes of a path end."""
    return [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path.get("d", ""))]


def same(one: ET.Element, other: ET.Element) -> bool:
    """Whether two marks are alike but for place, size and colour, which grey would leave."""
    if (one.tag, one.get("class")) != (other.tag, other.get("class")):
        return False
    if one.tag == f"{SVG}circle":
        return True
    outlines = [np.array(pairs(own)) for own in (one, other)]
    if outlines[0].shape != outlines[1].shape:
        return False
    centred = [outline - outline.mean(axis=0) for outline in outlines]
    first, second = (outline / np.abs(outline).max() for outline in centred)
    return bool(np.abs(first - second).max() < 0.15)


def test_every_look_has_a_form_of_its_own() -> None:
    marks = [drawn_alone(look) for look in LOOKS]
    assert len(marks) == 23
    assert [[same(one, other) for other in marks] for one in marks] == np.eye(23).tolist()


def test_looks_that_are_given_stay_and_others_keep_clear() -> None:
    looks = looks_of(["a", "b", "c"], {"b": LOOKS[0], "z": LOOKS[1]})
    assert [looks[name] for name in "abc"] == [LOOKS[1], LOOKS[0], LOOKS[2]]
    with pytest.raises(InputError, match="two methods of the same shape"):
        looks_of("ab", {"a": LOOKS[0], "b": replace(LOOKS[0], colour="ink")})
    with pytest.raises(InputError, match="methods are 24, and a figure tells at most 23 apart"):
        looks_of(str(k) for k in range(24))


def test_colours_stand_out_on_white_and_on_black() -> None:
    for light, dark in COLOURS.values():
        assert contrast(light, "#ffffff") >= 3.0
        assert contrast(dark, "#14181d") >= 3.0
    for text in ("#1b2430", "#55606e"):
        assert contrast(text, "#ffffff") >= 4.5
    for text in ("#e8ecf0", "#a5b0bc"):
        assert contrast(text, "#14181d") >= 4.5
    assert all(colour in STYLE for pair in COLOURS.values() for colour in pair)


# What linear red, green and blue become where one kind of cone is missing (Machado et al. 2009).
SIGHT = {
    "full": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def seen(colour: str, sight: str) -> npt.NDArray[np.float64]:
    """A colour as CIELAB, in which a distance of 2 or 3 can just be noticed."""
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    shown = XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0.0, 1.0) / XYZ.sum(axis=1)
    x, y, z = np.where(shown > 0.008856, np.cbrt(shown), 7.787 * shown + 16 / 116)
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_colours_differ_for_the_colour_blind_too(sight: str, mode: int) -> None:
    places = [seen(pair[mode], sight) for pair in COLOURS.values()]
    distances = [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(places, 2)]
    assert min(distances) >= 10.0
