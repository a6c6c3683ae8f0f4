"""Plots hold the figures they are made of, return their axes and leave matplotlib as it was."""

import sys
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.patches import StepPatch
from matplotlib.text import Text

import likeforlike as lfl
from likeforlike._lazy import extra
from likeforlike._plots import (
    COLORS,
    LOOKS,
    MOST_LEVELS,
    LevelFigures,
    Look,
    Panel,
    PlottedPoint,
    Series,
    draw_gaps,
    draw_panel,
    looks_of,
    plain_figure,
    tradeoff_figure,
)
from likeforlike.auditing import Audit
from likeforlike.datasets import make_loans
from likeforlike.errors import InputError, MissingDependencyError
from likeforlike.experiments import Frontier


@pytest.fixture(autouse=True)
def _unseen() -> Iterator[None]:
    """No window is opened, and no setting is left changed."""
    mpl.use("agg")
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def audit() -> Audit:
    frame = make_loans(2000, gap=0.1).frame
    return lfl.audit(frame, score="score", sensitive="sex", legitimate="income", permutations=19)


def dots(ax: object) -> list[tuple[float, float]]:
    """Middles of single marks, from the top down."""
    lines = ax.get_lines()  # type: ignore[attr-defined]
    marks = [line for line in lines if len(line.get_xdata()) == 1]
    places = [(float(m.get_xdata()[0]), float(m.get_ydata()[0])) for m in marks]
    return sorted(places, key=lambda place: -place[1])


def test_gaps_are_drawn_with_their_intervals(audit: Audit) -> None:
    ax = audit.plot()
    assert [x for x, _ in dots(ax)] == [level.gap for level in audit.levels]
    drawn = {tuple(np.asarray(line.get_xdata()).tolist()) for line in ax.get_lines()}
    assert {level.gap_interval for level in audit.levels} <= drawn
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        level.name for level in audit.levels
    ]
    assert ax.get_xlabel() == "mean score, male minus female"


def test_distances_are_drawn_beside_chance(audit: Audit) -> None:
    ax = audit.plot("levels")
    assert [x for x, _ in dots(ax)] == [level.distance for level in audit.levels]
    (chance,) = (line for line in ax.get_lines() if line.get_label() == "by chance alone")
    assert np.asarray(chance.get_xdata()).tolist() == [
        level.null_distance for level in audit.levels
    ]


def test_scores_of_a_level_are_drawn_as_steps(audit: Audit) -> None:
    ax = audit.plot("distributions", level=audit.levels[1].name)
    shown = audit.contrasts[0].distributions[1]
    steps = [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]
    assert [tuple(step[0]) for step in steps] == list(shown.shares.values())
    assert tuple(steps[0][1]) == shown.edges


def test_an_axes_that_is_given_is_drawn_on_and_returned(audit: Audit) -> None:
    ax = plain_figure(4.0, 3.0).add_subplot()
    assert audit.plot(ax=ax) is ax
    assert audit.evidence is not None
    conditional = audit.evidence.contrasts[0].conditional
    assert conditional.plot(ax=plain_figure(4.0, 3.0).add_subplot()).get_lines()


def test_what_cannot_be_drawn_is_named(audit: Audit) -> None:
    with pytest.raises(InputError, match="kind must be one of"):
        audit.plot("pie")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"level must be one of \['income"):
        audit.plot("distributions", level="nobody")


def test_a_disparity_is_drawn_level_by_level() -> None:
    disparity = lfl.cdd_lp([0.0, 1.0, 0.0, 3.0], ["f", "m", "f", "m"], ["low", "low", "top", "top"])
    ax = disparity.plot()
    assert dots(ax) == [(3.0, 1.0), (1.0, 0.0)]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["top", "low"]


def test_many_levels_are_cut_and_counted() -> None:
    ax = plain_figure(4.0, 3.0).add_subplot()
    draw_gaps(ax, [LevelFigures(str(k), float(k)) for k in range(MOST_LEVELS + 3)], label="gap")
    assert len(dots(ax)) == MOST_LEVELS
    assert ax.get_xlabel().endswith("(3 more levels are not drawn)")


def test_a_frontier_is_drawn_with_its_steps() -> None:
    frontier = Frontier.of([0.1, 0.2, 0.3, 0.3], [0.5, 0.2, 0.1, 0.4], list("abcd"))
    ax = frontier.plot()
    (steps,) = (line for line in ax.get_lines() if line.get_drawstyle() == "steps-post")
    assert np.asarray(steps.get_xdata())[:-1].tolist() == [0.1, 0.2, 0.5]
    assert np.asarray(steps.get_ydata()).tolist() == [0.3, 0.2, 0.1, 0.1]
    low, high = ax.get_ylim()
    assert low > high  # less cost is better, and better is upwards
    assert ax.get_title(loc="left") == "4 runs"


def panel(*points: PlottedPoint, **limits: float) -> Panel:
    return Panel("Loans", "5 runs", "AUC", "more", "disparity", (Series("dots", points),), **limits)


def test_points_beyond_the_limits_are_arrows_and_counted() -> None:
    ax = plain_figure(4.0, 3.0).add_subplot()
    far = panel(
        PlottedPoint(0.0, 0.1, 0.8, best=True), PlottedPoint(1.0, 9.0, 0.8), worst=0.5, most=1.0
    )
    draw_panel(ax, far)
    assert [text.get_text() for text in ax.texts] == ["1 point beyond"]
    assert ax.get_xlim()[1] <= 1.0


@pytest.mark.parametrize(
    ("points", "limits", "said"),
    [
        ((), {}, "without points"),
        ((PlottedPoint(0.0, np.nan, 1.0),), {}, "not finite"),
        ((PlottedPoint(0.0, 2.0, 1.0),), {"most": 1.0}, "within its limits"),
    ],
)
def test_panels_without_points_are_refused(
    points: tuple[PlottedPoint, ...], limits: dict[str, float], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        draw_panel(plain_figure(4.0, 3.0).add_subplot(), panel(*points, **limits))


def test_a_grid_has_a_panel_each_and_one_key() -> None:
    figure = tradeoff_figure([panel(PlottedPoint(0.0, 0.1, 0.8))] * 3, title="Three", columns=2)
    assert len(figure.axes) == 3
    assert figure.legends[0].get_texts()[0].get_text() == "dots"
    with pytest.raises(InputError, match="at least one panel"):
        tradeoff_figure([], title="None")


def test_long_titles_stay_inside_the_figure() -> None:
    title = "Disparity against predictive performance, with legitimate features only, in one panel"
    figure = tradeoff_figure([panel(PlottedPoint(0.0, 0.1, 0.8))], title=title)
    figure.canvas.draw()
    drawn = [text for text in figure.findobj(Text) if text.get_text().startswith("Disparity")]
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in drawn)
    assert [text.get_text().replace("\n", " ") for text in drawn] == [title]


def test_looks_differ_in_grey_and_are_given_once() -> None:
    assert len({look.form for look in LOOKS}) == len(LOOKS)
    assert {look.color for look in LOOKS} == set(COLORS)
    mine = Look("o", "full", "green")
    looks = looks_of(["a", "b", "a"], {"b": mine, "c": LOOKS[1]})
    assert list(looks) == ["a", "b"]
    assert looks["b"] is mine
    assert looks["a"].form != mine.form
    with pytest.raises(InputError, match="tells at most"):
        looks_of(map(str, range(99)), {})
    with pytest.raises(InputError, match="same shape and fill"):
        looks_of(["a", "b"], {"a": mine, "b": mine})


def test_without_matplotlib_the_extra_is_named(
    audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"likeforlike\[plot\]"):
        audit.plot()
    with pytest.raises(MissingDependencyError), extra("plot"):
        import matplotlib.pyplot as plt  # noqa: F401
