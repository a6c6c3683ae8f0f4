"""A release: the tag, the version, the notes and the citation say the same."""

import re
from pathlib import Path

import pytest
import yaml

import likeforlike
from tools.release import main, notes, version

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## [Unreleased]

## [1.1.0] - 2030-02-01

### Added

- Tea.

## [1.0.0] - 2030-01-01

- All of it.
"""
# What pages say until there is a release to install.
UNRELEASED = "not on PyPI yet"


def test_notes_are_the_section_of_the_version() -> None:
    assert notes("v1.1.0", "1.1.0", CHANGELOG) == "### Added\n\n- Tea."
    assert notes("v1.0.0", "1.0.0", CHANGELOG) == "- All of it."


@pytest.mark.parametrize("tag", ["1.1.0", "v1.0.0", "v1.1.0rc1", "v1.1"])
def test_a_tag_that_is_not_the_version_is_refused(tag: str) -> None:
    with pytest.raises(SystemExit, match=r"must be v1\.1\.0"):
        notes(tag, "1.1.0", CHANGELOG)


def test_a_version_without_notes_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"nothing under ## \[1\.2\.0\]"):
        notes("v1.2.0", "1.2.0", CHANGELOG)
    with pytest.raises(SystemExit, match="nothing under"):
        notes("v1.2.0", "1.2.0", CHANGELOG + "\n## [1.2.0]\n")


def test_the_version_is_read_off_the_package() -> None:
    package = ROOT / "src" / "likeforlike" / "__init__.py"
    assert version(package.read_text("utf-8")) == likeforlike.__version__
    with pytest.raises(SystemExit, match="no __version__"):
        version("version = 1")


def test_the_command_refuses_another_tag() -> None:
    with pytest.raises(SystemExit, match=re.escape(f"must be v{likeforlike.__version__}")):
        main(["v999.0.0"])


def test_the_citation_is_of_this_version_and_names_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == likeforlike.__version__
    (paper,) = citation["references"]
    assert paper["title"] == "Auditing and Enforcing Conditional Fairness via Optimal Transport"
    assert [author["family-names"] for author in paper["authors"]] == [
        *("Ghassemi", "Mishler", "Dalmasso", "Zhang", "Potluru", "Balch", "Veloso")
    ]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_pages_say_that_nothing_is_released_until_something_is(page: str) -> None:
    released = re.search(r"^## \[\d", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    said = UNRELEASED in " ".join((ROOT / page).read_text("utf-8").split())
    assert said == (released is None)
