# SPDX-License-Identifier: Apache-2.0
"""The application: what the page asks, who answers it, and when it ends."""

from __future__ import annotations

import json
import socket
import time
import webbrowser
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any, ClassVar
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from anon.errors import UsageError
from anon.explore import views
from anon.explore.guard import Guard, Refused, answer_of
from anon.explore.session import Progress, Session
from anon.explore.worker import Channel, Superseded, Worker
from anon.html import style_sheet

IDLE = 3600.0  # seconds without a request
GRACE = 5.0  # seconds for a page that is loaded again
WHOLE = 10.0  # seconds within which a request is sent


class Patient(H11Protocol):
    """A connection, of one request, that ends where this is not there in time."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(WHOLE, self._end_half_sent)

    def _end_half_sent(self) -> None:
        if self.cycle is None or self.cycle.more_body:
            self.transport.close()


class Page:
    """A session as an application."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.worker, self.channel = Worker(), Channel()
        self.n_open, self.asked = 0, time.monotonic()
        self.left: float | None = None
        posts = (self.enter, self.start, self.events, self.change, self.do, self.tree)
        self.app = Starlette(
            routes=[
                Route("/", lambda request: HTMLResponse(views.shell())),
                Route(
                    "/explore.css",
                    lambda request: Response(style_sheet() + _asset("css"), media_type="text/css"),
                ),
                Route("/explore.js", lambda request: Response(_asset("js"), media_type="text/javascript")),
                *(Route(f"/{each.__name__}", each, methods=["POST"]) for each in posts),
            ],
            exception_handlers={Exception: self.failed, Refused: self.failed},
        )
        self.guard: Guard | None = None

    def is_over(self, idle: float = IDLE) -> bool:
        """Whether the page was closed, or nobody asked for anything for so long."""
        now = time.monotonic()
        if self.worker.busy:
            self.asked = now
        is_closed = self.left is not None and not self.n_open and now - self.left > GRACE
        return is_closed or now - self.asked > idle

    # --- requests

    async def failed(self, request: Request, error: Exception) -> Response:
        """Why there is no answer, in words that hold no cell."""
        return answer_of(error, self._words)

    async def enter(self, request: Request) -> Response:
        """The token for the cookie and the key."""
        assert self.guard is not None
        token = parse_qs((await request.body()).decode("latin-1")).get("token", [""])[0]
        self.guard.exchange(token)
        return HTMLResponse(views.shell(self.guard.key), headers={"set-cookie": self.guard.set_cookie})

    async def start(self, request: Request) -> Response:
        """The whole page, and an answer to what it asks to begin with."""
        self.asked = time.monotonic()
        html = views.content(self.session)
        self._preview()
        return HTMLResponse(html)

    async def events(self, request: Request) -> Response:
        """Parts of the page as they come, a line of JSON each; an empty line where there is nothing."""

        async def told() -> AsyncIterator[str]:
            self.n_open += 1
            try:
                async for part in self.channel.listen():
                    yield ("" if part is None else json.dumps(part)) + "\n"
            finally:
                self.n_open -= 1
                self.left = time.monotonic()

        return StreamingResponse(told(), media_type="application/x-ndjson")

    async def change(self, request: Request) -> Response:
        """The controls hold something else."""
        self._fill(await request.json())
        self._preview()
        return Response(status_code=204)

    async def do(self, request: Request) -> Response:
        """Something that a button asks for."""
        asked = await request.json()
        self._fill(asked["form"])
        act = asked["do"]
        if act not in self._acts:
            raise UsageError("there is no such button")
        part, run = self._acts[act]
        self._put(part, lambda progress: run(self, asked, progress), part == "answer")
        return Response(status_code=204)

    async def tree(self, request: Request) -> Response:
        """The hierarchy of a column: imported, drafted, edited or removed; its row of the table again."""
        asked = await request.json()
        self._fill(asked["form"])
        session, i, act = self.session, int(asked["column"]), asked["do"]
        if not 0 <= i < len(session.names):
            raise UsageError("there is no such column")
        words = ""
        try:
            if act in ("import", "plant"):
                await run_in_threadpool(session.plant, i, str(asked["text"]))
            elif act == "draft":
                await run_in_threadpool(session.draft, i)
            elif act == "fell":
                session.fell(i)
        except Exception as error:
            words = self._words(error)
        if not words:
            self._preview()
        return JSONResponse({"id": f"column-{i}", "html": views.column_row(session, i, words)})

    # --- answers

    def _fill(self, form: dict[str, str]) -> None:
        self.asked = time.monotonic()
        self.session.fill(form)

    def _words(self, error: BaseException) -> str:
        said = self.session.without_paths(self.session.speak.words(error))
        return said[:1].upper() + said[1:]

    def _put(self, part: str, run: Callable[[Progress], str], supersedes: bool = False) -> None:
        """Have a part of the page made; what is said of it then is shown in its place."""

        def task(check: Progress) -> None:
            last = 0.0

            def progress(stage: str, done: int, total: int) -> None:
                nonlocal last
                check(stage, done, total)
                if time.monotonic() - last > 0.1:
                    last = time.monotonic()
                    self.channel.tell({"id": "progress", "stage": stage, "done": done, "total": total})

            try:
                progress("start", 0, 1)
                html = run(progress)
                if part != "exported":  # which is there, whatever is asked for since
                    check("end", 1, 1)
            except Superseded:
                if part != "answer":  # of which another comes
                    self.channel.tell(
                        {"id": part, "html": views.fault("Ended, as something else was asked.")}
                    )
                raise
            except Exception as error:
                html = views.fault(self._words(error))
            self.channel.tell({"id": part, "html": html})
            self.channel.tell({"id": "progress", "stage": ""})

        self.worker.put(task, supersedes)

    def _preview(self) -> None:
        self._put("answer", self._previewed, supersedes=True)

    def _previewed(self, progress: Progress) -> str:
        self.channel.tell({"id": "more", "html": ""})  # what was shown is of another release
        made = self.session.preview(progress)
        return views.answer(made, self.session.keys())

    def _made(self, asked: Any, progress: Progress) -> str:
        made = self.session.make(progress)
        self.channel.tell({"id": "more", "html": ""})
        return views.answer(made, made.keys)

    def _shown(self, asked: Any, progress: Progress) -> str:
        session = self.session
        if asked["do"] == "attack":
            return views.attacked(session.attacked(progress))
        made = session.answer or session.preview(progress)
        if asked["do"] == "rows":
            return views.rows(*session.rows())
        show = {"losses": views.losses, "risk": views.risk, "lattice": views.lattice}
        return show[asked["do"]](made)

    def _swept(self, asked: Any, progress: Progress) -> str:
        return views.frontier(self.session.sweep(progress))

    def _taken(self, asked: Any, progress: Progress) -> str:
        point = self.session.take(str(asked["name"]))
        assert self.session.swept is not None
        self.channel.tell({"id": "set", "values": dict(self.session.form)})
        self.channel.tell({"id": "frontier", "html": views.frontier(self.session.swept, point)})
        return self._previewed(progress)

    def _exported(self, asked: Any, progress: Progress) -> str:
        name, replacing, report = (asked.get(each) for each in ("name", "replace", "report"))
        done = self.session.export(str(name), bool(replacing), bool(report), progress)
        return views.exported(done, str(self.session.folder))

    _acts: ClassVar[dict[str, tuple[str, Any]]] = {
        "make": ("answer", _made),
        **dict.fromkeys(("rows", "losses", "risk", "lattice", "attack"), ("more", _shown)),
        "sweep": ("frontier", _swept),
        "take": ("answer", _taken),
        "export": ("exported", _exported),
    }


def _asset(suffix: str) -> str:
    return files("anon.explore").joinpath(f"explore.{suffix}").read_text("utf-8")


def serve(session: Session, *, opened: Callable[[str], Any] = webbrowser.open, idle: float = IDLE) -> None:
    """Show a session to whoever opens the file whose address `opened` is told, until the page is closed.

    The user alone can read the file. It listens on the loopback interface, at a port that is free.
    """
    page = Page(session)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        guard = page.guard = Guard(page.app, listening.getsockname()[1], page._words)

        async def watch() -> None:
            if page.is_over(idle):
                server.should_exit = True

        server = uvicorn.Server(
            uvicorn.Config(
                guard,
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                loop="asyncio",
                http=Patient,
                timeout_graceful_shutdown=1,
                callback_notify=watch,
                timeout_notify=1,
            )
        )
        try:
            opened(guard.door().as_uri())
            server.run(sockets=[listening])
        finally:
            guard.close()
            page.worker.stop()
            session.close()
