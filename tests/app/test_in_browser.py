"""The app in a real browser: from a file to its page, with few clicks and nothing left over."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

import likeforlike as lfl
from likeforlike.app._words import WORDS
from likeforlike.datasets import make_loans, make_staff
from tests.app.asking import Elements
from tests.app.test_folder import wait_until
from tests.app.test_upload import SCRIPT

pytestmark = pytest.mark.process

ROLES: dict[str, Any] = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
DROP = """async ([name, content]) => {
  const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0))
  const data = new DataTransfer()
  data.items.add(new File([bytes], name))
  document.querySelector('.drop').dispatchEvent(
    new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))
}"""

# The name that a screen reader says of what has the focus.
FOCUS = """() => {
  const one = document.activeElement
  const label = one.labels && one.labels.length ? one.labels[0].textContent : ''
  return one.getAttribute('aria-label') || label || one.textContent.trim()
}"""


class Served:
    """The app in a process of its own, and a browser that has opened it."""

    def __init__(self, browser: Browser, folder: Path, *options: str) -> None:

        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "likeforlike", "app", "--no-browser", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://(\S+?)/\S+", line)
        assert found, line
        self.address, self.host = found[0], found[1]
        self.context: BrowserContext = browser.new_context()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.context.on("console", lambda message: self.said.append(message.text))
        self.context.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page = self.tab(self.address)
        self.page.wait_for_url(lambda url: "token" not in url)

    def tab(self, address: str, width: int = 1200) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        return page

    def files(self) -> list[str]:
        return [name for _, _, names in os.walk(self.folder) for name in names]

    def at_work(self) -> list[str]:
        """Processes that do jobs for it."""
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid), "-f", "likeforlike.app._child"],
            capture_output=True,
            text=True,
            check=False,
        )
        return found.stdout.split()

    def close(self) -> None:
        self.context.close()
        self.process.kill()
        self.process.communicate()
        assert wait_until(lambda: not self.files())


@pytest.fixture
def served(browser: Browser, tmp_path: Path) -> Iterator[Served]:
    app = Served(browser, tmp_path)
    yield app
    app.close()


def drop(page: Page, name: str, content: bytes) -> None:
    page.wait_for_selector(".drop")
    page.wait_for_load_state()
    page.evaluate(DROP, [name, base64.b64encode(content).decode()])


def run(page: Page, button: str = "run") -> None:
    page.get_by_role("button", name=WORDS[button]).click()


def headline(page: Page) -> str:
    return page.frame_locator("iframe").locator("h1").inner_text(timeout=60_000)


def fits(page: Page) -> bool:
    page.wait_for_load_state()  # until then its styles may not be there
    size = page.viewport_size
    assert size is not None
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width <= size["width"]


@pytest.mark.parametrize(("name", "width"), [("loans.csv", 1200), ("loans.xlsx", 390)])
def test_from_drop_to_page(served: Served, tmp_path: Path, name: str, width: int) -> None:
    """Two actions: a drop and a click."""
    path, page = tmp_path / name, served.page
    page.set_viewport_size({"width": width, "height": 900})
    frame = make_loans(1000, gap=0.15).frame.drop("score")
    (frame.write_csv if name.endswith("csv") else frame.write_excel)(path)
    assert fits(page)
    drop(page, name, path.read_bytes())
    page.wait_for_selector("select")
    assert fits(page)
    run(page)
    first = headline(page)
    assert fits(page)
    with page.expect_download() as download:
        page.get_by_role("link", name=WORDS["result_json"]).click()
    assert download.value.suggested_filename == "audit-loans.json"
    got = json.loads(Path(download.value.path()).read_text("utf-8"))
    audited = lfl.audit(path, **ROLES)
    assert got["contrasts"] == audited.to_dict()["contrasts"]
    heading = re.search(r"<h1>(.*?)</h1>", audited.to_html(), re.DOTALL)
    assert heading is not None
    assert first.split() == Elements(heading[1]).words.split()
    said = f"likeforlike audit {name} --score approved --sensitive sex --legitimate income"
    assert page.inner_text("#line") == f"{said} --report page.html"
    if name == "loans.csv":
        assert "income" in page.frame_locator("iframe").locator("body").inner_text()
        change_column(page)
    assert served.said == []
    assert {url.split("/")[2] for url in served.asked} == {served.host}
    assert not [url for url in served.asked[1:] if "token" in url]
    path.unlink()


def test_a_pay_report_from_drop_to_page(served: Served, tmp_path: Path) -> None:
    """Guessed roles are corrected for what employers report: one category, bonuses, hours."""
    page = served.page
    frame = make_staff(600).frame
    frame.write_csv(tmp_path / "staff.csv")
    drop(page, "staff.csv", (tmp_path / "staff.csv").read_bytes())
    page.wait_for_selector("select")
    page.get_by_label(WORDS["kind"]).select_option("pay")
    for name, role in {"tenure": "", "bonus": "variable", "hours": "hours"}.items():
        page.get_by_label(WORDS["columns_role_of"].format(name=name)).select_option(role)
    run(page)
    assert headline(page)
    assert fits(page)
    columns = "--base salary --sensitive sex --category grade --variable bonus --hours hours"
    said = f"likeforlike pay staff.csv {columns} --report page.html"
    assert page.inner_text("#line") == said
    with page.expect_download() as download:
        page.get_by_role("link", name=WORDS["result_json"]).click()
    got = json.loads(Path(download.value.path()).read_text("utf-8"))
    roles = {"base": "salary", "variable": "bonus", "category": "grade", "hours": "hours"}
    report = lfl.pay(tmp_path / "staff.csv", sensitive="sex", **roles)  # type: ignore[arg-type]
    known = json.loads(report.to_json())
    for each in (got, known):
        each.pop("created")
    assert got == known
    assert served.said == []
    (tmp_path / "staff.csv").unlink()


def change_column(page: Page) -> None:
    """Leave out a legitimate column, set a threshold, and see the result again."""
    page.get_by_label(WORDS["columns_role_of"].format(name="income")).select_option("")
    page.get_by_label(WORDS["threshold"]).fill("5%")
    run(page, "run_again")
    page.wait_for_selector(".earlier", timeout=60_000)
    assert headline(page)
    assert "income" not in page.frame_locator("iframe").locator("body").inner_text()
    assert page.locator(".earlier li").all_inner_texts() == [
        *("approved by sex, given income", "approved by sex, everyone")
    ]
    assert "--threshold 5%" in page.inner_text("#line")


def test_bad_files_and_choices_get_their_sentence(served: Served) -> None:
    page = served.page
    drop(page, "notes.pdf", b"%PDF")
    assert "notes.pdf must end in .csv" in page.locator(".error:not(:empty)").inner_text()
    page.get_by_role("link", name=WORDS["another"]).click()
    table = "größe,sex,approved\n" + "1,f,1\n2,m,0\n" * 50
    drop(page, "old.csv", table.encode("latin-1"))
    error = page.locator(".error:not(:empty)")
    error.filter(has_text="old.csv is not utf-8").wait_for()
    page.get_by_label(WORDS["reading_encoding"]).fill("latin-1")
    run(page, "reading_again")
    page.get_by_label(WORDS["columns_role_of"].format(name="größe")).wait_for()
    page.get_by_label(WORDS["threshold"]).fill("a lot")
    run(page)
    field = page.locator("#threshold[aria-invalid=true]")
    field.wait_for(timeout=60_000)
    assert "threshold must be a number such as 0.05" in page.inner_text("#threshold-error")
    assert field.input_value() == "a lot"
    assert "threshold-error" in (field.get_attribute("aria-describedby") or "")


def test_hostile_labels_do_nothing_up_to_the_result(served: Served) -> None:
    page = served.page
    names = [f"{SCRIPT}score", '"><img src=x onerror=alert(2)>sex', "{{ 7*7 }}\u202e=1+1"]
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    rows = "".join(f"{k % 2},{SCRIPT if k % 3 else 'm'},'--\n" for k in range(200))
    drop(page, '<img src=x onerror=alert(3)>"\u202e.csv', f"{quoted}\n{rows}".encode())
    page.wait_for_selector("select")
    assert page.locator("select").evaluate_all("all => all.map(one => one.value)") == [
        *("audit", "score", "sensitive", "")
    ]
    page.locator("#role2").select_option("legitimate")
    run(page)
    assert headline(page)
    assert '<img src=x onerror=alert(3)>"\\u202e.csv' in page.inner_text("h1")
    assert "$'{{ 7*7 }}\\U0000202e=1+1'" in page.inner_text("#line")
    assert served.said == []


def loans(rows: int) -> bytes:
    return make_loans(rows, gap=0.15).frame.select("approved", "sex", "income").write_csv().encode()


def refused(served: Served, address: str) -> list[int]:
    """Statuses of an address: of the browser, then without its cookie, with a wrong one, ..."""
    path = address.partition(served.host)[2]
    (cookie,) = served.context.cookies(address)
    own = {"Cookie": f"{cookie.get('name')}={cookie.get('value')}"}
    statuses = []
    for headers in (
        own,
        {},
        {"Cookie": f"{cookie.get('name')}=guess"},
        own | {"Host": "rebound.example"},
        own | {"Origin": "http://127.0.0.1:1"},
    ):
        line = http.client.HTTPConnection(served.host)
        line.request("GET", path, headers=headers)
        statuses.append(line.getresponse().status)
        line.close()
    return statuses


def test_two_tabs_do_not_meet(served: Served) -> None:
    tabs = [served.page, served.tab(served.page.url)]
    for place, tab in enumerate(tabs):
        tab.set_input_files(
            "#file", {"name": f"t{place}.csv", "mimeType": "", "buffer": loans(300 + place)}
        )
    for tab in tabs:
        tab.wait_for_selector("select")
        run(tab)
    for place, tab in enumerate(tabs):
        assert headline(tab)
        assert f"t{place}.csv" in tab.inner_text("h1")
        with tab.expect_download() as download:
            tab.get_by_role("link", name=WORDS["result_json"]).click()
        got = json.loads(Path(download.value.path()).read_text("utf-8"))
        assert sum(got["contrasts"][0]["rows"]) == 300 + place


def test_much_work_shows_progress_and_stops(served: Served, tmp_path: Path) -> None:
    path, page = tmp_path / "big.csv", served.page
    frame = make_loans(1_000_000, gap=0.15).frame.select("score", "sex", "income", "debt")
    frame.with_columns(pl.col("score", "debt").round(4)).write_csv(path)
    page.set_input_files("#file", path)
    page.wait_for_selector("select", timeout=60_000)
    assert "1,000,000" in page.inner_text(".lead")
    page.get_by_label(WORDS["columns_role_of"].format(name="debt")).select_option("bins")
    columns = page.url
    run(page)
    page.locator("progress[value]").wait_for(timeout=60_000)
    page.get_by_text(re.compile(rf"\d+% {WORDS['running_share']}")).wait_for()
    assert len(served.at_work()) == 1
    run(page, "cancel")
    page.get_by_role("heading", name=WORDS["canceled_title"]).wait_for()
    assert not served.at_work()
    assert "page.html" not in served.files()
    # A tab that is closed stops its job, and an app that is killed removes everything.
    page.goto(columns)
    run(page)
    page.wait_for_selector("progress")
    assert wait_until(lambda: len(served.at_work()) == 1)
    path.unlink()
    assert "table.csv" in served.files()
    page.close()
    assert wait_until(lambda: not served.at_work())
    assert served.process.poll() is None
    served.process.kill()
    assert wait_until(lambda: not served.files())


@pytest.mark.parametrize("ending", [signal.SIGINT, None])
def test_every_end_removes_all_files(
    browser: Browser, tmp_path: Path, ending: signal.Signals | None
) -> None:
    served = Served(browser, tmp_path)
    served.page.set_input_files("#file", {"name": "a.csv", "mimeType": "", "buffer": loans(300)})
    served.page.wait_for_selector("select")
    served.page.get_by_role("button", name=WORDS["run"]).click()
    served.page.wait_for_selector("progress")
    assert "table.csv" in served.files()
    if ending is None:
        served.page.get_by_role("button", name=WORDS["quit"]).click()
        served.page.get_by_role("heading", name=WORDS["closed_title"]).wait_for()
    else:
        served.process.send_signal(ending)
    code = served.process.wait(timeout=20)
    assert code == 0
    assert wait_until(lambda: not served.files())
    served.context.close()
    served.process.communicate()


def test_keyboard_alone_is_enough(browser: Browser, tmp_path: Path) -> None:
    """With a file to begin with, which stays where it is."""
    path, inner = tmp_path / "pay.csv", tmp_path / "inner"
    path.write_bytes(loans(300))
    inner.mkdir()
    served = Served(browser, inner, str(path))
    page = served.page
    page.wait_for_selector("select")
    button, names = WORDS["run"], [""]
    while names[-1] != button and len(names) < 40:
        page.keyboard.press("Tab")
        names.append(page.evaluate(FOCUS))
    assert names[1] == WORDS["skip"]
    assert names[-1] == button
    assert all(names[1:])
    page.keyboard.press("Enter")
    assert headline(page)
    assert refused(served, page.url) == [200, 403, 403, 421, 403]
    run(page, "remove")
    page.wait_for_selector("#file")
    served.close()
    assert path.read_bytes() == loans(300)
