"""All words of the app are in one place."""

from __future__ import annotations

import re
from pathlib import Path

import likeforlike.app
from likeforlike.app._words import WORDS

FOLDER = Path(likeforlike.app.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").glob("*.j2"))
# Words that are put together of a part and of a value.
BUILT = ("kind", "role_", "why_", "reading_", "choose_", "one_")


def test_templates_and_script_hold_no_words_of_their_own() -> None:
    for path in TEMPLATES:
        text = re.sub(r"{% block width %}[a-z-]+{% endblock %}", "", path.read_text("utf-8"))
        bare = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", text, flags=re.DOTALL)
        said = re.sub(r"<[^>]*>", "", bare)
        assert not re.findall(r"[A-Za-z]{2,}", said), path.name
        for attribute in re.findall(r'(?:aria-label|title|alt|placeholder)="([^"]*)"', bare):
            assert not attribute.strip(), path.name
    script = (FOLDER / "templates" / "app.js").read_text("utf-8")
    assert 'textContent = "";' in script
    assert not re.search(r'textContent = ["`][^"`$]', script)


def test_every_word_is_used_and_every_word_used_is_there() -> None:
    texts = [path.read_text("utf-8") for path in (*TEMPLATES, *FOLDER.glob("_[!w]*.py"))]
    used = {name for text in texts for name in re.findall(r"\bw\.(\w+)", text)}
    used |= {name for text in texts for name in re.findall(r'WORDS\["(\w+)"\]', text)}
    used |= {"run_words_equal", "run_words_all"}  # one of them is chosen
    built = {name for name in WORDS if name.startswith(BUILT)}
    assert used <= set(WORDS)
    assert set(WORDS) - built <= used
