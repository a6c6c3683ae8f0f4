"""The tool that counts complete types, on what the type checker would say."""

from typing import Any

import pytest

from tools import types

KNOWN: dict[str, Any] = {
    "name": "toy.f",
    "isExported": True,
    "isTypeKnown": True,
    "diagnostics": [],
}
UNKNOWN = {**KNOWN, "isTypeKnown": False, "diagnostics": [{"message": "Type is\n  missing"}]}


def said(*symbols: dict[str, Any]) -> dict[str, Any]:
    known = sum(symbol["isTypeKnown"] for symbol in symbols)
    counts = {"withKnownType": known, "withUnknownType": len(symbols) - known}
    return {
        "symbols": list(symbols),
        "exportedSymbolCounts": counts,
        "completenessScore": known / len(symbols),
    }


def test_only_public_names_of_unknown_type_are_incomplete() -> None:
    inner = {**UNKNOWN, "name": "toy._g", "isExported": False}
    assert list(types.incomplete(said(KNOWN, UNKNOWN, inner))) == ["toy.f: Type is missing"]


@pytest.mark.parametrize(
    ("symbols", "code", "last"),
    [
        ((KNOWN, KNOWN), 0, "2 of 2 public names have known types: 100.0%"),
        ((KNOWN, UNKNOWN), 1, "1 of 2 public names have known types: 50.0%"),
    ],
)
def test_the_exit_code_says_whether_all_types_are_known(
    symbols: tuple[dict[str, Any], ...],
    code: int,
    last: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(types, "verified", lambda _: said(*symbols))
    with pytest.raises(SystemExit) as done:
        types.main()
    assert done.value.code == code
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_PROGRAM", "no-such-checker")
    with pytest.raises(SystemExit, match="no-such-checker is not installed: python -m pip install"):
        types.verified("likeforlike")
