"""The section about training: its words follow its figures, its charts show them."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likeforlike.document._training_types import ModelPart, TrainingPart
from likeforlike.report import page
from likeforlike.report._axes import Frame
from likeforlike.report._format import number
from likeforlike.report._gap_panels import SHOWN, gap_panels
from likeforlike.report._labels import Box, place_labels
from likeforlike.report._tradeoff import NARROW, WIDE, tradeoff_chart
from likeforlike.report._training import network_rows, training_section
from likeforlike.report._training_finding import distance_of, estimate_of, outcome
from tests.report.documents import SCRIPT, fresh_demonstration, training_of
from tests.report.test_page import Elements, text_of

FRAMES = pytest.mark.parametrize("frame", [WIDE, NARROW], ids=["wide", "narrow"])


def fresh_training() -> TrainingPart:
    return training_of(fresh_demonstration())


def set_figures(model: ModelPart, value: float, auc: float, reach: float = 0.01) -> None:
    sized = estimate_of(model)
    sized["value"], sized["interval"] = value, [max(value - reach, 0.0), value + reach]
    model["auc"] = auc


def told(training: TrainingPart) -> str:
    said = outcome(training)
    return " ".join([said["headline"], *said["sentences"], *said["cautions"]])


def test_the_section_comes_with_the_training_and_not_without() -> None:
    document = fresh_demonstration()
    text = text_of(page(document))
    assert "What training can do about it" in text
    training = training_of(document)
    finding = training["finding"]
    for said in (finding["setup"], finding["headline"], *finding["sentences"]):
        assert said in text
    for caution in finding["cautions"]:
        assert caution in text
    for model in (training["models"][k] for k in (0, training["chosen"])):
        assert model["audit"]["finding"]["headline"] in text
        assert " ".join(model["audit"]["finding"]["sentences"]) in text
    document["training"] = None
    assert "training" not in text_of(page(document))


def test_the_section_gives_no_verdict_of_fairness() -> None:
    text = text_of(page(fresh_demonstration())).replace("FairLeap", "")
    assert not re.search(r"\b(un)?fair", text, re.IGNORECASE)


@pytest.mark.parametrize(
    ("after", "auc", "words"),
    [
        (0.005, 0.649, "lowers the estimated disparity from 0.102 to 0.00500 and lowers AUC from"),
        (0.2, 0.7, "raises the estimated disparity from 0.102 to 0.200 and raises AUC from"),
        (0.102, 0.6601, "leaves the estimated disparity at 0.102 and leaves AUC at 0.660"),
    ],
)
def test_the_headline_says_where_the_figures_went(after: float, auc: float, words: str) -> None:
    training = fresh_training()
    set_figures(training["models"][0], 0.102, 0.66)
    set_figures(training["models"][training["chosen"]], after, auc)
    assert words in outcome(training)["headline"]


def test_the_choice_is_told_as_it_was_made() -> None:
    training = fresh_training()
    training["met"], training["limit"] = True, 0.04
    assert "the largest AUC among the strengths whose estimate is at most 0.04" in told(training)
    training["met"] = False
    assert "No strength brought the estimate to 0.04 or less" in told(training)


@pytest.mark.parametrize(("value", "side"), [(0.01, "below"), (0.03, "across"), (0.06, "above")])
@pytest.mark.parametrize("p", [0.005, 0.05, 0.051, 0.9])
def test_what_is_left_is_set_against_chance_and_the_limit(
    value: float, side: str, p: float
) -> None:
    training = fresh_training()
    training["limit"] = 0.03
    chosen = training["models"][training["chosen"]]
    set_figures(chosen, value, 0.6)
    chosen["audit"]["contrasts"][0]["p_value"] = p
    said = told(training)
    assert f"lies {side} the limit of 0.03" in said
    assert ("is not more than chance explains" in said) == (p > 0.05)
    assert ("does not prove that nothing is left" in said) == (p > 0.05)


def test_without_a_planted_gap_nothing_is_said_of_one() -> None:
    training = fresh_training()
    assert "planted" in told(training)
    training["data"]["gap"] = 0.0
    assert "planted" not in told(training)


def marks(chart: str) -> list[tuple[float, float]]:
    """Where networks lie, circles and the diamond, in the order of drawing."""
    pattern = r'<circle cx="([-\d.]+)" cy="([-\d.]+)"|<path d="M([-\d.]+) ([-\d.]+)l7\.5'
    found = []
    for dot_x, dot_y, corner_x, corner_y in re.findall(pattern, chart):
        # A diamond is written from its left corner.
        found.append(
            (float(dot_x), float(dot_y)) if dot_x else (float(corner_x) + 7.5, float(corner_y))
        )
    return found


def triangle(chart: str) -> tuple[float, float]:
    ((left, foot, x, y),) = re.findall(
        r'd="M([-\d.]+) ([-\d.]+)L([-\d.]+) ([-\d.]+)L[^"]*z" class="b hollow"', chart
    )
    assert float(left) < float(x)
    assert float(foot) > float(y)
    return float(x), float(y) + 6.5


def is_affine(values: list[float], places: list[float]) -> bool:
    pairs = sorted(zip(values, places, strict=True))
    (low, first), (high, last) = pairs[0], pairs[-1]
    slope = (last - first) / (high - low)
    return all(abs(first + slope * (v - low) - place) < 0.16 for v, place in pairs)


@FRAMES
def test_points_lie_where_the_figures_are(frame: Frame) -> None:
    training = fresh_training()
    chart = tradeoff_chart(training, frame)
    shown = [*training["models"], training["repair"]]
    places = [*marks(chart), triangle(chart)]
    assert len(places) == len(shown)
    assert is_affine([distance_of(one) for one in shown], [x for x, _ in places])
    assert is_affine([one["auc"] for one in shown], [y for _, y in places])
    best = max(range(len(shown)), key=lambda k: shown[k]["auc"])
    assert min(range(len(shown)), key=lambda k: places[k][1]) == best


@FRAMES
@pytest.mark.parametrize("chosen", [1, 2])
def test_shapes_tell_points_apart_without_color(frame: Frame, chosen: int) -> None:
    training = fresh_training()
    training["chosen"] = chosen
    chart = tradeoff_chart(training, frame)
    assert chart.count("<circle") == len(training["models"]) - 1
    assert chart.count('class="e full"') == 1
    assert triangle(chart)
    strong = re.findall(r'class="mid strong">([^<]+)<', chart)
    assert strong == [
        f"{'strength ' if frame.kind == 'wide' else ''}{training['models'][chosen]['strength']:g}"
    ]


@FRAMES
def test_intervals_end_at_their_bounds(frame: Frame) -> None:
    training = fresh_training()
    chart = tradeoff_chart(training, frame)
    spans = re.findall(
        r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="\2" class="\w span', chart
    )
    shown = [*training["models"], training["repair"]]
    bounds = [bound or 0.0 for one in shown for bound in estimate_of(one)["interval"]]
    ends = [float(x) for left, _, right in spans for x in (left, right)]
    assert is_affine(bounds, ends)


@FRAMES
def test_the_frontier_climbs_in_steps_through_its_networks(frame: Frame) -> None:
    training = fresh_training()
    for model, (value, auc) in zip(
        training["models"], [(0.11, 0.66), (0.04, 0.65), (0.06, 0.64)], strict=True
    ):
        set_figures(model, value, auc)
    training["frontier"] = [1, 0]
    chart = tradeoff_chart(training, frame)
    (drawn,) = re.findall(r'<path d="M([^"]*)" class="c steps"', chart)
    steps = [tuple(map(float, point.split())) for point in drawn.split("L")]
    places = marks(chart)
    assert steps[0] == pytest.approx(places[1], abs=0.11)
    assert steps[2] == pytest.approx(places[0], abs=0.11)
    for (x1, y1), (x2, y2) in pairwise(steps):
        assert (x1 == x2) != (y1 == y2)
        assert x2 >= x1
        assert y2 <= y1


@FRAMES
def test_the_chart_is_told_in_words(frame: Frame) -> None:
    training = fresh_training()
    desc = re.findall(r"<desc>(.*?)</desc>", tradeoff_chart(training, frame))[0]
    for model in training["models"]:
        sized = estimate_of(model)
        assert (
            f"strength {model['strength']:g}: AUC {model['auc']:.3f}, estimated disparity "
            f"{number(sized['value'])}" in desc
        )
    assert "repair: AUC" in desc
    assert "On the frontier" in desc


@FRAMES
def test_equal_networks_can_be_drawn(frame: Frame) -> None:
    training = fresh_training()
    for model in (*training["models"], training["repair"]):
        set_figures(model, 0.0, 0.5, reach=0.0)
    training["frontier"], training["limit"] = [0], 0.0
    chart = tradeoff_chart(training, frame)
    assert "nan" not in chart
    assert len(set(marks(chart))) == 1


POINTS = st.lists(st.tuples(st.floats(0.0, 280.0), st.floats(0.0, 300.0)), min_size=1, max_size=8)


@given(POINTS)
def test_labels_stay_inside_and_apart(points: list[tuple[float, float]]) -> None:
    frame = Box(0.0, 0.0, 280.0, 300.0)
    placed = place_labels(
        points, ["0.3", "repair", "30", "1", "0", "100", "3", "10"][: len(points)], frame
    )
    for k, box in enumerate(placed):
        assert frame.left - 1e-9 <= box.left < box.right <= frame.right + 1e-9
        assert frame.top - 1e-9 <= box.top < box.bottom <= frame.bottom + 1e-9
        assert all(box.shared(other) < 1e-9 for other in placed[:k])


def test_labels_keep_off_what_is_taken() -> None:
    point, frame = (100.0, 100.0), Box(0.0, 0.0, 200.0, 200.0)
    (above,) = place_labels([point], ["30"], frame)
    assert above.bottom < 100.0
    (elsewhere,) = place_labels([point], ["30"], frame, [Box(0.0, 0.0, 200.0, 99.0)])
    assert elsewhere.top > 99.0
    (crowded,) = place_labels([point], ["30"], frame, [frame])
    assert crowded.bottom < 100.0


def panel_marks(panel: str) -> list[float]:
    found = re.findall(r'<circle cx="([-\d.]+)|<path d="M([-\d.]+) [\d.]+l6\.5', panel)
    return [float(dot) if dot else float(corner) + 6.5 for dot, corner in found]


def test_panels_share_their_order_and_their_scale() -> None:
    sides = [(str(k), fresh_training()["models"][k]["audit"]) for k in range(2)]
    # The same levels ranked otherwise must not change places.
    sides[1][1]["contrasts"][0]["levels"].reverse()
    panels = gap_panels(sides)
    order = [level["name"] for level in sides[0][1]["contrasts"][0]["levels"]]
    gaps, places = [], []
    for (_, document), panel in zip(sides, panels, strict=True):
        by_name = {level["name"]: level["gap"] for level in document["contrasts"][0]["levels"]}
        gaps += [by_name[name] for name in order]
        places += panel_marks(panel)
        assert re.findall(r'class="name">([^<]+)<', panel) == order
    assert is_affine(gaps, places)


def test_panels_mark_evidence_and_thin_levels() -> None:
    audit = fresh_training()["models"][0]["audit"]
    levels = audit["contrasts"][0]["levels"]
    for k, level in enumerate(levels):
        level["p_adjusted"] = 0.05 if k < 2 else 0.051
    levels[0]["thin"], levels[0]["gap_interval"] = True, [-1e6, 1e6]
    levels[1]["gap_interval"] = levels[2]["p_adjusted"] = None
    (panel,) = gap_panels([("alone", audit)])
    assert panel.count(" full") == 2
    assert panel.count("<circle") == len(levels) - 2
    assert panel.count("dashed") == 1
    assert max(panel_marks(panel)) - min(panel_marks(panel)) > 10.0


def test_panels_of_many_levels_are_cut_and_the_cut_is_said() -> None:
    document = fresh_demonstration()
    training = training_of(document)
    for k in (0, training["chosen"]):
        levels = training["models"][k]["audit"]["contrasts"][0]["levels"]
        levels += [{**levels[0], "name": f"extra {number}"} for number in range(SHOWN)]
    hidden = training_section(training).hidden
    assert hidden == len(levels) - SHOWN
    assert f"{hidden} other levels are not drawn" in text_of(page(document))


def test_the_table_holds_every_network_and_the_repair() -> None:
    training = fresh_training()
    rows = network_rows(training)
    assert len(rows) == len(training["models"]) + 1
    assert [row[-1] for row in rows].count("chosen") == 1
    assert rows[0][-1] == "no penalty"
    assert rows[-1][0] == "repair"
    assert rows[-1][-1] == "needs sex"
    tables = Elements(page(fresh_demonstration())).all("table")
    written = [
        " ".join(one["text"].split())
        for table in tables
        for one in table["inner"]
        if one["tag"] == "tr"
    ]
    for row in rows:
        assert " ".join(" ".join(row).split()) in written


def test_hostile_names_are_shown_as_they_are() -> None:
    document = fresh_demonstration()
    training = training_of(document)
    training["data"]["sensitive"] = training["data"]["target"] = SCRIPT
    for model in training["models"]:
        contrast = model["audit"]["contrasts"][0]
        model["audit"]["roles"]["score"] = model["audit"]["finding"]["headline"] = SCRIPT
        for level in contrast["levels"]:
            level["name"] += SCRIPT
    training["finding"] = outcome(training)
    written = page(document)
    assert "<script" not in written
    assert text_of(written).count(SCRIPT) > 10
