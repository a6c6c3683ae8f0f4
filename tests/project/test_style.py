"""Words and names of the source: the vocabulary of `docs/style.md`, counted."""

import re
from collections import Counter
from pathlib import Path

import pytest

import likeforlike

FILES = sorted(Path(likeforlike.__file__).parent.rglob("*.py"))
# How often each may stand; "law" stays in names of statutes. Lower a number when it is undercut.
MOST = dict.fromkeys(("dealt", "told", "nobody", "somebody", "whoever", "laws"), 0)
MOST |= dict.fromkeys(("by lot", "spoke"), 0)
MOST |= {"beside": 1, "everybody": 2, "so many": 2, "law": 88}


def count_words(text: str) -> Counter[str]:
    plain = re.sub(r"[_\W]+", " ", text.lower())
    return Counter({word: len(re.findall(rf"\b{word}\b", plain)) for word in MOST})


@pytest.mark.parametrize("word", MOST)
def test_the_textbook_has_another_word(word: str) -> None:
    assert sum(count_words(path.read_text("utf-8"))[word] for path in FILES) <= MOST[word]


def test_the_count_sees_words_in_names() -> None:
    assert count_words("def law_of(rows): 'Nobody is told so many.'") == Counter(
        {"law": 1, "nobody": 1, "told": 1, "so many": 1}
    )
