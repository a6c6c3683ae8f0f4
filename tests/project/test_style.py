"""Words and names of the source: the vocabulary of `docs/style.md`, counted."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import likeforlike

FILES = sorted(Path(likeforlike.__file__).parent.rglob("*.py"))
WORDS = ("dealt", "told", "nobody", "somebody", "everybody", "whoever", "law", "laws", "beside")
WORDS += ("by lot", "so many", "spoke")
# Lower a limit whenever it is undercut. "law" stays in names of statutes.
MOST = {word: 150 for word in WORDS}


def count_words(text: str) -> Counter[str]:
    plain = re.sub(r"[_\W]+", " ", text.lower())
    return Counter({word: len(re.findall(rf"\b{word}\b", plain)) for word in WORDS})


@pytest.mark.parametrize("word", WORDS)
def test_the_textbook_has_another_word(word: str) -> None:
    assert sum(count_words(path.read_text("utf-8"))[word] for path in FILES) <= MOST[word]


def test_the_count_sees_words_in_names() -> None:
    assert count_words("def law_of(rows): 'Nobody is told so many.'") == Counter(
        {"law": 1, "nobody": 1, "told": 1, "so many": 1}
    )
