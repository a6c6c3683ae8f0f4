"""Only the browser that was opened with the address may ask for anything."""

from __future__ import annotations

import pytest

from likeforlike.app._words import WORDS
from tests.app.asking import HOST, Asked


def test_token_opens_once_and_leads_to_an_address_without_it(asked: Asked) -> None:
    token = asked.guard.token
    asked.open()
    answer = asked.ask("GET", asked.path)
    assert answer.status == 200
    assert WORDS["start_title"] in answer.body
    assert token is not None
    assert token not in answer.body + str(answer.headers)
    leads_on = asked.ask("GET", f"{asked.path}?token={token}")
    assert leads_on.status == 200
    assert "set-cookie" not in leads_on.headers
    assert f"url={asked.path}" in leads_on.body
    asked.cookie = ""
    again = asked.ask("GET", f"{asked.path}?token={token}")
    assert again.status == 403
    assert WORDS["refused_token"] in again.body


def test_cookie_is_for_this_site_and_path_and_no_script(asked: Asked) -> None:
    answer = asked.ask("GET", f"{asked.path}?token={asked.guard.token}")
    _, *rules = answer.headers["set-cookie"].split("; ")
    assert set(rules) == {"HttpOnly", "SameSite=strict", f"Path={asked.path.rstrip('/')}"}


@pytest.mark.parametrize("token", ["", "wrong", "é", "%00", "x" * 5000])
def test_wrong_token_is_refused_and_names_no_path(asked: Asked, token: str) -> None:
    answer = asked.ask("GET", f"{asked.path}?token={token}")
    assert answer.status == 403
    assert asked.path.strip("/") not in answer.body
    assert "set-cookie" not in answer.headers


def test_address_may_be_followed_from_anywhere(asked: Asked) -> None:
    with_token = f"{asked.path}?token={asked.guard.token}"
    elsewhere = {"sec-fetch-site": "cross-site", "origin": "https://chat.example"}
    assert asked.ask("GET", f"{asked.path}?token=wrong", headers=elsewhere).status == 403
    assert "set-cookie" in asked.ask("GET", with_token, headers=elsewhere).headers


@pytest.mark.parametrize("cookie", ["", "likeforlike-5000=", "likeforlike-5000=wrong", "=;;="])
def test_wrong_cookie_is_refused(asked: Asked, cookie: str) -> None:
    for method, path in (("GET", "table/1"), ("POST", ""), ("POST", "quit"), ("GET", "job/1")):
        headers = {"cookie": cookie}
        assert asked.ask(method, asked.path + path, headers=headers).status == 403
    assert not asked.ended


@pytest.mark.parametrize(
    "host", ["", "localhost:5000", "127.0.0.1", "127.0.0.1:5001", "evil.example", f"{HOST}.evil"]
)
def test_another_host_is_refused(asked: Asked, host: str) -> None:
    asked.open()
    for method in ("GET", "POST"):
        answer = asked.ask(method, asked.path, headers={"host": host})
        assert answer.status == 421
        assert WORDS["refused_host"] in answer.body


def test_another_host_does_not_use_up_the_token(asked: Asked) -> None:
    with_token = f"{asked.path}?token={asked.guard.token}"
    assert asked.ask("GET", with_token, headers={"host": "evil.example"}).status == 421
    asked.open()


@pytest.mark.parametrize(
    ("origin", "site", "status"),
    [
        (f"http://{HOST}", "same-origin", 200),
        ("null", "same-origin", 200),  # as browsers write it where no referrer is sent
        (f"http://{HOST}", "", 200),  # a browser without Sec-Fetch-Site
        ("", "", 403),
        ("null", "", 403),
        ("null", "cross-site", 403),
        ("null", "none", 403),
        ("null", "same-site", 403),  # another port of this machine
        ("http://127.0.0.1:5001", "same-site", 403),
        ("http://127.0.0.1:5001", "", 403),
        ("https://evil.example", "cross-site", 403),
        ("https://evil.example", "same-origin", 403),
        (f"https://{HOST}", "", 403),
    ],
)
def test_only_pages_of_the_app_change_anything(
    asked: Asked, origin: str, site: str, status: int
) -> None:
    asked.open()
    headers = {"origin": origin, "sec-fetch-site": site}
    answer = asked.ask("POST", f"{asked.path}quit", headers=headers)
    assert answer.status == status
    assert asked.ended == (status == 200)


@pytest.mark.parametrize(
    ("site", "status"),
    [("none", 200), ("same-origin", 200), ("", 200), ("same-site", 403), ("cross-site", 403)],
)
def test_other_pages_read_nothing(asked: Asked, site: str, status: int) -> None:
    asked.open()
    assert asked.ask("GET", asked.path, headers={"sec-fetch-site": site}).status == status
    evil = {"origin": "https://evil.example", "sec-fetch-site": site}
    assert asked.ask("GET", asked.path, headers=evil).status == 403


def test_every_answer_has_a_strict_policy(asked: Asked) -> None:
    answers = [asked.ask("GET", "/"), asked.ask("GET", f"{asked.path}?token={asked.guard.token}")]
    asked.cookie = answers[1].headers["set-cookie"].partition(";")[0]
    paths = ("", "static/app.css", "static/app.js", "static/../_pages.py", "table/1", "job/1/state")
    answers += [asked.ask("GET", asked.path + path) for path in paths]
    answers.append(asked.ask("GET", "/elsewhere"))
    assert [each.status for each in answers] == [403, 200, 200, 200, 200, 404, 404, 404, 404]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_methods_are_kept_apart(asked: Asked) -> None:
    asked.open()
    assert asked.ask("GET", f"{asked.path}quit").status == 405
    assert asked.ask("PUT", asked.path).status == 405
    assert not asked.ended
