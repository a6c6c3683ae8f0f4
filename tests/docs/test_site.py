"""The documentation site: it builds without a warning, every link leads somewhere, and a real
browser opens every page without a complaint and without asking anybody else for anything."""

import importlib
import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, Response

import likeforlike
from likeforlike.document import audit_schema
from likeforlike.teams import release_schema, request_schema
from tools.site_docstrings import with_descriptions_below
from tools.site_pages import examples_page, led

ROOT = Path(__file__).parents[2]
# Where the site is below its host.
BASE = "/likeforlike/"
PUBLIC = [
    "likeforlike",
    *(
        f"likeforlike.{name}"
        for name, home in sorted(likeforlike._homes.items())  # type: ignore[attr-defined]
        if home == "likeforlike"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it; a warning is an error (but not with --quiet)."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stdout + built.stderr
    return folder


class Silent(SimpleHTTPRequestHandler):
    """Serves a folder, and in place of its index for searching a `short` one if there is one."""

    short: bytes | None = None

    def do_GET(self) -> None:
        if self.short is None or not self.path.endswith("/search_index.json"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.short)))
        self.end_headers()
        self.wfile.write(self.short)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a server of this machine shows the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def pages(site: Path) -> list[str]:
    """Addresses of all pages, from the front page."""
    found = sorted(site.rglob("index.html"))
    return [path.parent.relative_to(site).as_posix().removeprefix(".") for path in found]


class Markup(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.nameless: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        # A page names its own address, which nobody fetches.
        named = tag == "link" and given.get("rel") == "canonical"
        if (tag == "a" or named) and "href" in given:
            self.links.append(given["href"])
        elif tag in ("link", "img", "script", "source", "iframe", "object"):
            loaded = (given[name] for name in ("href", "src", "data") if name in given)
            self.loads.extend(loaded)
        if tag == "img" and not given.get("alt"):
            self.nameless.append(given.get("src", ""))


@cache
def markup(path: Path) -> Markup:
    return Markup(path.read_text("utf-8"))


def complaint(site: Path, page: Path, link: str) -> str | None:
    """What is wrong with a link of a page, if anything; other hosts are not looked at."""
    place = "http://site/" + page.relative_to(site).as_posix()
    to = urlsplit(urljoin(place, link))
    if to.netloc != "site":
        return None
    # The page that stands in for missing ones is shown at any depth, so it links from the root.
    target = site / unquote(to.path).removeprefix(BASE).removeprefix("/")
    if to.path.endswith("/"):
        target /= "index.html"
    if not target.is_file():
        return f"{place}: {link} leads nowhere"
    if to.fragment and unquote(to.fragment) not in markup(target).anchors:
        return f"{place}: {link} names no place in its page"
    return None


@pytest.mark.process
def test_every_link_leads_somewhere(site: Path) -> None:
    documents = sorted(site.rglob("*.html"))
    assert len(documents) > 30
    wrong = [
        complaint(site, page, link)
        for page in documents
        for link in [*markup(page).links, *markup(page).loads]
    ]
    assert [each for each in wrong if each is not None] == []


def test_the_checker_sees_what_is_broken(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text('<h1 id="a">A</h1><a href="#b"></a><a href="c/"></a><img src="d.svg">')
    found = markup(page)
    assert [complaint(tmp_path, page, link) is None for link in [*found.links, "#a"]] == [
        False,
        False,
        True,
    ]
    assert complaint(tmp_path, page, found.loads[0]) is not None
    assert found.nameless == ["d.svg"]


@pytest.mark.process
def test_pages_load_nothing_from_elsewhere_and_name_their_pictures(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert [load for load in markup(page).loads if urlsplit(load).netloc] == []
        assert markup(page).nameless == []


def public_names(module: str) -> set[str]:
    return set(importlib.import_module(module).__all__) - {"__version__"}


@pytest.mark.process
@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(site: Path, module: str) -> None:
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines()}
    names = public_names(module)
    # What the root offers is documented where it lives; a function that has the name of its module
    # stands under it.
    homes = [module] if module != "likeforlike" else [name.rpartition(".")[0] for name in known]
    places = {f"{home}.{name}" for home in homes for name in names} & known
    missing = {
        name
        for name in names
        if not {f"{module}.{name}.{name}"} & known
        and not any(place.endswith(f".{name}") for place in places)
    }
    assert missing == set()


@pytest.mark.process
@pytest.mark.parametrize("module", PUBLIC)
def test_search_knows_every_public_name(site: Path, module: str) -> None:
    """As the title of a place in the reference, which counts most."""
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    titles = {entry["title"] for entry in index if entry["location"].startswith("reference/")}
    assert public_names(module) - titles == set()


@pytest.mark.process
def test_the_schema_is_where_it_says_it_is(site: Path) -> None:
    for schema in (audit_schema(), request_schema(), release_schema()):
        address = json.loads(schema)["$id"]
        assert address.startswith("https://likeforlike.github.io" + BASE)
        assert (site / address.rpartition("/")[2]).read_text("utf-8") == schema


# One question instead of several: each is a way to the browser and back.
COMPLAINTS = """() => [
    ...(document.querySelector("h1")?.checkVisibility() ? [] : ["no heading"]),
    ...[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => "empty " + i.src),
]"""


class Watched:
    """A window of the browser, and everything it complained about."""

    def __init__(
        self, browser: Browser, address: str, scheme: Literal["light", "dark"] = "light"
    ) -> None:
        self.address = address
        self.wrong: list[str] = []
        self.context: BrowserContext = browser.new_context(color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.context.on("request", lambda request: self._asked(request.url))
        self.context.on("requestfailed", self._failed)
        self.context.on("response", self._answered)

    def _failed(self, request: Request) -> None:
        # What was still on its way when the next page was opened has not failed.
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed {request.url}: {request.failure}")

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:")):
            self.wrong.append(f"asked for {url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.wrong.append(f"{response.status} for {response.url}")


def test_every_page_opens_in_a_browser(
    site: Path, address: str, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every page would read all pages to be able to search them, which another test looks at. What
    # Playwright answers in the server's place goes past the browser's cache, and so does all else.
    short = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    monkeypatch.setattr(Silent, "short", json.dumps({**short, "docs": short["docs"][:1]}).encode())
    window = Watched(browser, address)
    widths = [1280, 380]
    for place in pages(site):
        before = len(window.wrong)
        window.page.goto(f"{address}{place}/" if place else address)
        window.wrong.extend(window.page.evaluate(COMPLAINTS))
        # Every second page is opened in the narrow window: changing it takes as long as opening.
        widths.reverse()
        for width in widths:
            window.page.set_viewport_size({"width": width, "height": 900})
            if window.page.evaluate("document.documentElement.scrollWidth") > width:
                window.wrong.append(f"wider than a window of {width} pixels")
        window.wrong[before:] = [f"{place}: {text}" for text in window.wrong[before:]]
    window.context.close()
    assert window.wrong == []


def test_search_finds_fairbit(address: str, browser: Browser) -> None:
    window = Watched(browser, address)
    window.page.goto(address)
    window.page.locator(".md-search__input").click()
    window.page.keyboard.type("FairBiT")
    found = window.page.locator("a.md-search-result__link")
    found.first.wait_for(timeout=20_000)
    addresses = [urljoin(address, link.get_attribute("href") or "") for link in found.all()]
    assert any(urlsplit(url).path == "/reference/penalties/" for url in addresses)
    window.page.goto(addresses[0])
    assert "FairBiT" in window.page.locator("article").inner_text()
    window.context.close()
    assert window.wrong == []


def test_light_and_dark_follow_the_reader_and_can_be_switched(
    address: str, browser: Browser
) -> None:
    shade = "getComputedStyle(document.body).backgroundColor"
    shades = []
    schemes: list[Literal["light", "dark"]] = ["light", "dark"]
    for scheme in schemes:
        window = Watched(browser, address, scheme)
        window.page.goto(address)
        shades.append(window.page.evaluate(shade))
        window.page.locator("label[title^='Switch to']:visible").click()
        shades.append(window.page.evaluate(shade))
        window.context.close()
    light, switched, dark, back = shades
    assert light == back == "rgb(255, 255, 255)"
    assert dark == switched != light


def test_links_out_of_the_pages_are_led_to_where_their_targets_are() -> None:
    assert led("[a](../README.md#x)", "scale.md", ROOT) == "[a](index.md#x)"
    assert led("[a](../../CHANGELOG.md)", "tutorials/x.md", ROOT) == "[a](../changelog.md)"
    assert led("[a](docs/scale.md)", "contributing.md", ROOT) == "[a](scale.md)"
    assert led("[a](../examples/audit_csv.py)", "x.md", ROOT) == "[a](examples.md#audit_csv)"
    assert led("[a](../examples)", "x.md", ROOT) == "[a](examples.md)"
    assert led("[a](../LICENSE)", "x.md", ROOT) == "a"
    for same in ("[a](scale.md)", "[a](https://b.org/c)", "[a](#b)", "![a](../b.svg)", "a[0](b)"):
        assert led(same, "x.md", ROOT) == same


def test_scripts_stand_under_what_they_say(tmp_path: Path) -> None:
    script = tmp_path / "one.py"
    script.write_text('"""Does a thing.\n\nAt length.\n"""\n\nprint(1)\n')
    written = examples_page([script])
    assert "## one.py { #one }\n\nDoes a thing.\n\n````python\n" in written
    assert written.endswith("print(1)\n````\n")


def test_descriptions_move_below_their_names() -> None:
    text = """Sum.

Parameters
----------
a : (n,) floats,
    one each.
b, c : the rest.

Returns
-------
total : a float.

Examples
--------
>>> x : int = 1
"""
    assert (
        with_descriptions_below(text)
        == """Sum.

Parameters
----------
a
    (n,) floats,
    one each.
b
    (with `c`) the rest.

c
    see `b`.
Returns
-------
total :
    a float.

Examples
--------
>>> x : int = 1"""
    )
    assert "\n:\n    the sum.\n" in with_descriptions_below("S.\n\nReturns\n-------\nthe sum.\n\n")
