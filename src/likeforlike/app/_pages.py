"""The pages of the app, and what their buttons do.

A file that was read is a `Table` with an address of its own, so that two tabs do not meet.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from likeforlike.app._columns import Column
from likeforlike.app._jobs import (
    COMMANDS,
    READING,
    Form,
    Job,
    command_of,
    missing_choices,
    shell_line,
    words_of,
)
from likeforlike.app._upload import receive_file, receive_form
from likeforlike.app._view import asset, render, shown, size_words
from likeforlike.app._words import WORDS
from likeforlike.errors import InputError

# A look at the columns of most files is over before a page about it would be read.
_SOON = 4.0
_ASSETS = {"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8"}
_PAGE, _JSON = "page.html", "audit.json"
# The page of an audit needs no script, so it gets none.
_PAGE_POLICY = (
    "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


class Table:
    """A file that was handed over: what it is called, how it is read, and what was done with it."""

    def __init__(self, number: str, name: str, path: Path, folder: Path) -> None:
        self.number, self.name, self.path, self.folder = number, name, path, folder
        self.reading: dict[str, str] = {}
        self.description: dict[str, Any] = {}
        self.look: Job | None = None
        self.jobs: list[Job] = []

    @property
    def columns(self) -> list[Column]:
        """Its columns, with guessed roles; none as long as they are not known."""
        return list(self.description.get("columns", []))

    def find_description(self) -> None:
        """Take over what the look at the columns found."""
        if self.look is not None and self.look.state == "done" and not self.description:
            self.description = json.loads((self.look.folder / "columns.json").read_text("utf-8"))

    def say(self, sentence: str) -> str:
        """Name the file as it was handed over, not where it lies."""
        return sentence.replace(str(self.path), shown(self.name))


class Pages:
    """All tables of an app, and the answers to its requests."""

    def __init__(self, folder: Path, base: str, most: int, end: Callable[[], None]) -> None:
        self._folder, self._base, self._most, self._end = folder, base, most, end
        self._tables: dict[str, Table] = {}
        self._first: Table | None = None
        self._jobs: dict[str, Job] = {}

    def routes(self) -> list[Mount]:
        """Say which address is answered by what."""
        table, job = "/table/{table}", "/job/{job}"
        get: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/": self._start,
            "/static/{name}": self._asset,
            table: self._columns,
            job: self._progress_or_result,
            f"{job}/state": self._state,
            f"{job}/{_PAGE}": self._page,
            f"{job}/{_JSON}": self._page,
        }
        post: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/": self._upload,
            "/quit": self._quit,
            f"{table}/reading": self._read_again,
            f"{table}/run": self._run,
            f"{table}/remove": self._remove,
            f"{job}/cancel": self._cancel,
            f"{job}/leave": self._leave,
        }
        routes = [Route(path, answer, methods=["GET"]) for path, answer in get.items()]
        routes += [Route(path, answer, methods=["POST"]) for path, answer in post.items()]
        return [Mount(self._base, routes=routes)]

    async def close(self) -> None:
        """Stop all jobs."""
        for job in list(self._jobs.values()):
            await job.cancel()

    def begin_with(self, file: Path) -> None:
        """Begin with a file, which stays where the user has it."""
        self._first = self._make_table(file.name, file)

    def _make_table(self, name: str = "", path: Path | None = None) -> Table:
        number = secrets.token_hex(8)
        folder = self._folder / number
        folder.mkdir(mode=0o700)
        return Table(number, name, path or folder, folder)

    # Choosing a file.

    async def _start(self, _request: Request) -> Response:
        first, self._first = self._first, None
        return self._start_page() if first is None else await self._look(first)

    def _start_page(self, sentence: str = "") -> Response:
        return self._show(
            "start.html.j2",
            sentence=sentence,
            size=size_words(self._most),
            most=self._most,
            tables=list(self._tables.values()),
        )

    async def _upload(self, request: Request) -> Response:
        table = self._make_table()
        try:
            table.name, table.path = await receive_file(request, table.folder, self._most)
        except BaseException as error:  # a full disk and a browser that went away, too
            shutil.rmtree(table.folder, ignore_errors=True)
            if isinstance(error, InputError):
                return self._start_page(str(error))
            raise
        return await self._look(table)

    async def _look(self, table: Table) -> Response:
        """Look at the columns of a file; its page comes at once if that is over soon."""
        self._tables[table.number], table.description = table, {}
        reading = {name: value for name, value in table.reading.items() if value}
        table.look = self._begin(table, {}, lambda _: {"file": str(table.path), "reading": reading})
        await table.look.wait(_SOON)
        if table.look.state == "running":
            return self._go(f"/job/{table.look.number}")
        return self._go(f"/table/{table.number}")

    async def _read_again(self, request: Request) -> Response:
        table = self._find_table(request)
        form = await receive_form(request)
        table.reading = {name: form.get(name, "").strip() for name in READING}
        await self._drop_jobs(table)  # they are about columns that may be others now
        return await self._look(table)

    async def _remove(self, request: Request) -> Response:
        table = self._find_table(request)
        await self._drop_jobs(table)
        self._tables.pop(table.number, None)
        shutil.rmtree(table.folder, ignore_errors=True)
        return self._go("/")

    async def _drop_jobs(self, table: Table) -> None:
        table.jobs = []
        for job in [job for job in self._jobs.values() if job.table == table.number]:
            self._jobs.pop(job.number, None)
            await job.cancel()
            shutil.rmtree(job.folder, ignore_errors=True)

    # Choosing roles.

    async def _columns(self, request: Request) -> Response:
        table = self._find_table(request)
        if table.look is not None and table.look.state == "running":
            return self._go(f"/job/{table.look.number}")
        return self._columns_page(table, {}, {})

    def _columns_page(self, table: Table, form: Form, wrong: Mapping[str, str]) -> Response:
        look = table.look
        if not table.columns:
            sheets = table.description.get("sheets", [])
            failed = WORDS["reading_sheets"] if sheets else ""
            if look is not None and look.state == "failed":
                failed = table.say(look.sentence)
            return self._show(
                "reading.html.j2", 422 if failed else 200, table=table, sheets=sheets, wrong=failed
            )
        return self._show(
            "columns.html.j2",
            422 if wrong else 200,
            table=table,
            sheets=table.description["sheets"],
            form=form or _proposal(table.columns),
            wrong=wrong,
        )

    async def _run(self, request: Request) -> Response:
        table = self._find_table(request)
        form = await receive_form(request)
        if form.get("kind", "audit") not in COMMANDS or "threshold" not in form:
            raise HTTPException(400, WORDS["start_broken"])
        wrong = missing_choices(table.columns, form)
        if wrong:
            return self._columns_page(table, form, wrong)

        def command(job: Job) -> dict[str, Any]:
            words = words_of(command_of(table.path, table.columns, form, table.reading))
            files = [f"--report={job.folder / _PAGE}", f"--json={job.folder / _JSON}"]
            return {"command": [*words, *files]}

        job = self._begin(table, form, command)
        table.jobs.append(job)
        return self._go(f"/job/{job.number}")

    def _begin(self, table: Table, form: Form, work: Callable[[Job], Mapping[str, Any]]) -> Job:
        number = secrets.token_hex(8)
        folder = table.folder / number
        folder.mkdir(mode=0o700)
        job = Job(number, table.number, folder, form)
        self._jobs[number] = job
        job.start(work(job))
        return job

    # Work and its result.

    async def _progress_or_result(self, request: Request) -> Response:
        job = self._find_job(request)
        table = self._tables[job.table]
        if job.state == "running":
            job.keep()
            return self._show("running.html.j2", job=job, table=table)
        if job.state == "canceled":
            return self._show("canceled.html.j2", job=job, table=table)
        if job is table.look or not job.form:
            return self._go(f"/table/{table.number}")
        if job.state == "failed":
            sentence = table.say(job.sentence)
            return self._columns_page(table, job.form, {_field_of(sentence): sentence})
        file = [*command_of(table.name, table.columns, job.form, table.reading)]
        line = shell_line([*file, ("--report", _PAGE)])
        return self._show(
            "result.html.j2",
            job=job,
            table=table,
            form=job.form,
            wrong={},
            line=line,
            earlier=[
                (each, _run_words(table, each)) for each in table.jobs if each.state == "done"
            ],
        )

    async def _state(self, request: Request) -> Response:
        job = self._find_job(request)
        job.keep()
        return JSONResponse({"state": job.state, "progress": job.progress})

    async def _leave(self, request: Request) -> Response:
        self._find_job(request).leave()
        return Response(status_code=204)

    async def _cancel(self, request: Request) -> Response:
        job = self._find_job(request)
        await job.cancel()
        return self._go(f"/job/{job.number}")

    async def _page(self, request: Request) -> Response:
        job = self._find_job(request)
        name = request.url.path.rpartition("/")[2]
        path = job.folder / name
        if job.state != "done" or not path.exists():
            raise HTTPException(404, WORDS["refused_missing"])
        headers = {"content-security-policy": _PAGE_POLICY, "x-frame-options": "SAMEORIGIN"}
        if "download" in request.query_params:
            stem = re.sub(r"\W+", "-", self._tables[job.table].name.partition(".")[0], flags=re.A)
            ending = name.rpartition(".")[2]
            named = f"audit-{stem.strip('-')[:60] or 'table'}.{ending}"
            headers["content-disposition"] = f'attachment; filename="{named}"'
        return FileResponse(path, headers=headers)

    # Everything else.

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _ASSETS:
            raise HTTPException(404, WORDS["refused_missing"])
        return Response(asset(name), media_type=_ASSETS[name])

    async def _quit(self, _request: Request) -> Response:
        self._end()
        return HTMLResponse(render("closed.html.j2"))

    def say(self, _request: Request, error: Exception) -> Response:
        """Answer what was asked wrongly."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        known = {400: WORDS["start_broken"], 404: WORDS["refused_missing"]}
        sentence = known.get(status, WORDS["refused_unexpected"])
        return self._show("refused.html.j2", status, sentence=sentence)

    def _show(self, template: str, status: int = 200, **values: object) -> Response:
        return HTMLResponse(
            render(template, base=self._base, kinds=list(COMMANDS), **values), status
        )

    def _go(self, path: str) -> Response:
        return RedirectResponse(f"{self._base}{path}", 303)

    def _find_table(self, request: Request) -> Table:
        table = self._tables.get(request.path_params["table"])
        if table is None:
            raise HTTPException(404, WORDS["refused_missing"])
        table.find_description()
        return table

    def _find_job(self, request: Request) -> Job:
        job = self._jobs.get(request.path_params["job"])
        if job is None:
            raise HTTPException(404, WORDS["refused_missing"])
        return job


def _proposal(columns: list[Column]) -> dict[str, str]:
    """Return what the form holds before anything was chosen."""
    return {f"role{place}": column["role"] for place, column in enumerate(columns)}


def _run_words(table: Table, job: Job) -> str:
    """Say in short what was compared."""
    chosen: dict[str, list[str]] = {}
    for place, column in enumerate(table.columns):
        role = job.form.get(f"role{place}", "")
        group = role if role in ("score", "sensitive", "") else "legitimate"
        if role != "weight":
            chosen.setdefault(group, []).append(shown(column["name"]))
    legitimate = ", ".join(chosen.get("legitimate", []))
    given = "run_words_equal" if legitimate else "run_words_all"
    return WORDS["run_words"].format(
        score=", ".join(chosen["score"]),
        sensitive=", ".join(chosen["sensitive"]),
        legitimate=WORDS[given].format(legitimate=legitimate),
    )


def _field_of(sentence: str) -> str:
    """Find the field that a sentence of the library is about."""
    for field in ("threshold", "suppress"):
        if field in sentence:
            return field
    return "columns"
