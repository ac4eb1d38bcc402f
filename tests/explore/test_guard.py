# SPDX-License-Identifier: Apache-2.0
"""Nobody but the user's own browser reaches the page, and the page reaches nobody."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn
from asking import Asker, Started, is_running, part
from uvicorn.server import ServerState

from anon.explore import guard as guards
from anon.explore import server
from anon.explore.guard import ENTER, HEADERS, MOST_BYTES, Guard

WORD = "Xq7vSecret"
TABLE = pa.table(
    {
        "age": [20 + i % 40 for i in range(200)],
        "town": [f"{WORD}Town{i % 7}" for i in range(200)],
        "illness": [f"{WORD}Illness{i % 5}" for i in range(200)],
    }
)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table, in a file."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(TABLE, path)
    return path


@pytest.fixture(scope="module")
def page(people: Path) -> Iterator[Started]:
    """A page that nobody has opened yet; tests go on in their order."""
    with Started(people, "--folder", people.parent) as started:
        yield started


@pytest.fixture(scope="module")
def asker(page: Started) -> Asker:
    """Who brought the token."""
    asker = Asker(page.port)
    assert asker.enter(page.token).status == 200
    return asker


def test_the_file_that_is_opened_is_the_users_alone(page: Started) -> None:
    assert stat.S_IMODE(page.door.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.door.parent.stat().st_mode) == 0o700
    assert page.door.stat().st_uid == os.getuid()
    words = Path(f"/proc/{page.process.pid}/cmdline").read_text()
    around = Path(f"/proc/{page.process.pid}/environ").read_text()
    assert page.token not in words + around
    assert len(page.token) >= 40


@pytest.mark.skipif(os.getuid() != 0, reason="not root: nobody else can be tried")
def test_a_second_user_neither_reads_the_file_nor_gets_an_answer(page: Started) -> None:
    nobody = pwd.getpwnam("nobody")
    as_nobody: dict[str, Any] = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    read = subprocess.run(["cat", str(page.door)], **as_nobody, capture_output=True, check=False)
    assert read.returncode != 0
    assert b"Permission denied" in read.stderr
    asked = f"""
import http.client, sys
for method, path in (("GET", "/"), ("POST", "/start"), ("POST", "/enter"), ("POST", "/events")):
    connection = http.client.HTTPConnection("127.0.0.1", {page.port})
    connection.request(method, path, b"token=guessed")
    print(connection.getresponse().status)
"""
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    tried = subprocess.run([python, "-c", asked], **as_nobody, cwd="/", capture_output=True, check=False)
    if tried.returncode == 126 or b"Permission denied" in tried.stderr:
        pytest.skip("no interpreter that nobody may run")
    assert tried.stdout.split() == [b"403"] * 4, tried.stderr
    listening = Path("/proc/net/tcp").read_text()
    assert f"0100007F:{page.port:04X}" in listening  # 127.0.0.1, and nothing wider
    assert f"00000000:{page.port:04X}" not in listening


def test_before_the_token_there_is_no_answer(page: Started) -> None:
    stranger = Asker(page.port)
    for method, path in (("GET", "/"), ("GET", "/explore.js"), ("POST", "/start"), ("POST", "/do")):
        answer = stranger.ask(method, path)
        assert (answer.status, WORD in answer.text) == (403, False)
    assert stranger.enter("guessed").status == 403
    assert stranger.enter("").status == 403


def test_the_token_serves_once(page: Started, asker: Asker) -> None:
    assert not page.door.exists()
    second = Asker(page.port)
    assert second.enter(page.token).status == 403
    assert asker.post("/start").status == 200


def test_every_answer_has_its_headers(asker: Asker) -> None:
    answers = [asker.ask("GET", path) for path in ("/", "/explore.css", "/explore.js", "/nothing")]
    answers += [asker.ask("POST", "/start"), asker.ask("GET", "/", headers={"host": "evil.example"})]
    assert [answer.status for answer in answers] == [200, 200, 200, 404, 200, 403]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert not {"server", "access-control-allow-origin"} & {*answer.headers}


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": "evil.example"},  # a name that was made to lead here
        {"host": "localhost"},
        {"host": "127.0.0.1"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
        {"origin": None},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
        {"cookie": None},
        {"cookie": "anon=x; =; other"},
        {"x-anon-key": None},
        {"x-anon-key": "guessed"},
    ],
    ids=str,
)
def test_what_is_not_the_pages_own_is_refused(asker: Asker, wrong: dict[str, str | None]) -> None:
    for path in ("/start", "/events", "/change", "/do", "/tree"):
        answer = asker.ask("POST", path, b"{}", wrong)
        assert (answer.status, WORD in answer.text) == (403, False), path
    if {*wrong} & {"host", "cookie"} or wrong.get("origin") or "sec-fetch-site" in wrong:
        assert asker.ask("GET", "/", b"", wrong).status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods_are_refused(asker: Asker, method: str) -> None:
    assert asker.ask(method, "/").status == 403


def test_there_is_no_web_socket(asker: Asker) -> None:
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    answer = asker.ask("GET", "/events", b"", {**upgrade, "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA=="})
    assert answer.status == 405

    async def tried() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        guard = Guard(None, 1, str)  # type: ignore[arg-type]  # nothing reaches what it guards
        await guard({"type": "websocket"}, None, send)  # type: ignore[arg-type]
        guard.close()
        return sent

    assert asyncio.run(tried()) == [{"type": "websocket.close", "code": 1008}]


def test_the_token_is_taken_from_a_file_or_the_page_itself_alone() -> None:
    guard = Guard(None, 7, str)  # type: ignore[arg-type]
    host = {"host": ["127.0.0.1:7"]}
    guard.check("POST", ENTER, {**host, "origin": ["null"]})
    for wrong in ({"origin": ["http://evil.example"]}, {"host": ["evil.example:7"]}, {"host": []}):
        with pytest.raises(guards.Refused):
            guard.check("POST", ENTER, {**host, **wrong})
    with pytest.raises(guards.Refused, match="twice"):
        guard.check("POST", ENTER, {"host": ["127.0.0.1:7", "evil.example"]})
    guard.close()


def test_an_upload_is_bounded(asker: Asker) -> None:
    whole = json.dumps({"do": "import", "column": 1, "form": {}, "text": "x" * MOST_BYTES}).encode()
    answer = asker.ask("POST", "/tree", whole)
    assert (answer.status, answer.text) == (403, "this is more than 16 MiB")


@pytest.mark.parametrize("missing", [40, 7])
def test_a_request_that_is_half_sent_ends(missing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is closed in time; one that waits for what is told, after its request, is not."""
    monkeypatch.setattr(server, "WHOLE", 0.3)

    async def told(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await asyncio.sleep(1)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"told"})

    async def tried() -> list[bytes]:
        config = uvicorn.Config(told, http=server.Patient, lifespan="off", log_config=None)
        config.load()
        state = ServerState()
        listening = await asyncio.get_running_loop().create_server(
            lambda: server.Patient(config, state, {}), "127.0.0.1", 0
        )
        port = listening.sockets[0].getsockname()[1]

        async def answer(request: bytes) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            try:
                return await asyncio.wait_for(reader.read(), 20)
            finally:
                writer.close()

        whole = b"POST /enter HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\ntoken=abc"
        async with listening:
            return list(await asyncio.gather(answer(whole[:-missing]), answer(whole)))

    half, whole = asyncio.run(tried())
    assert half == b""
    assert b"told" in whole


def test_a_fault_tells_no_cell(asker: Asker, page: Started) -> None:
    """What is wrong with a hierarchy, a name or a request is said without a value."""
    tree = {"do": "import", "column": 1, "form": {}, "text": f"{WORD}Town0;{WORD};*\n"}
    status, told, _ = asker.post("/tree", tree)
    row = json.loads(told)
    assert status == 200
    assert "Column &#x27;town&#x27;" in row["html"]
    assert WORD not in told
    for path, content in (
        ("/do", {"do": "nothing", "form": {}}),
        ("/do", {"do": "export"}),
        ("/tree", {"do": "draft", "column": 99, "form": {}}),
        ("/tree", {"do": "draft", "column": WORD, "form": {}}),
        ("/change", [WORD]),
    ):
        status, told, _ = asker.post(path, content)
        assert status in (400, 500)
        assert WORD not in told
    assert asker.ask("POST", "/do", b"{" + WORD.encode()).status == 500


def test_nothing_is_read_or_written_but_by_a_name_in_the_folder(asker: Asker, people: Path) -> None:
    form = {"role.0": "quasi", "role.1": "quasi", "role.2": "sensitive", "k": "5", "how": "effort=fast"}
    parts = asker.parts()
    for name in ("../out.parquet", "/tmp/out.parquet", "a/b.csv", ".hidden.csv", "release.html", "..", ""):
        asker.post("/do", {"do": "export", "form": form, "name": name})
        assert 'class="fault"' in part(parts, "exported"), name
    asker.post("/do", {"do": "export", "form": form, "name": people.name})
    assert "choose another name" in part(parts, "exported")
    (people.parent / "linked.parquet").symlink_to(people.parent / "elsewhere.parquet")
    asker.post("/do", {"do": "export", "form": form, "name": "linked.parquet", "replace": "on"})
    assert "is a link" in part(parts, "exported")
    asker.post("/do", {"do": "export", "form": form, "name": people.name, "replace": "on"})
    assert "never written over" in part(parts, "exported")
    assert sorted(each.name for each in people.parent.iterdir()) == ["linked.parquet", "people.parquet"]
    assert pq.read_table(people).equals(TABLE)


def test_it_ends_when_the_page_is_closed_and_has_logged_nothing(people: Path) -> None:
    with Started(people) as page:
        asker = Asker(page.port)
        given = asker.enter(page.token).headers["set-cookie"]
        assert re.fullmatch(rf"anon-{page.port}=[\w-]{{43}}; HttpOnly; SameSite=Strict; Path=/", given)
        asker.post("/start")
        parts = asker.parts()
        part(parts, "answer")
        asker.ask("POST", "/do", b"{" + WORD.encode())
        uploads = [each for each in Path(page.door.parent.parent).glob("anon-*") if each.is_dir()]
        parts.close()  # type: ignore[attr-defined]
        assert not is_running(page.process.pid, server.GRACE + 60)
        assert page.process.stderr is not None
        assert page.process.stderr.read() == ""
        assert all(page.door.parent != each for each in uploads)


def test_a_page_that_is_loaded_again_or_idle(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that ends leaves time for the next; nobody who asks for anything ends it too."""
    page = server.Page.__new__(server.Page)
    page.worker = type("Worker", (), {"busy": False})()  # type: ignore[assignment]
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    page.n_open, page.asked, page.left = 1, 100.0, None
    now[0] = 100.0 + server.IDLE - 1
    assert not page.is_over()
    page.n_open, page.left = 0, now[0]
    assert not page.is_over()
    now[0] += server.GRACE + 0.1
    assert page.is_over()
    page.n_open = 1
    now[0] = 100.0 + server.IDLE - 1
    assert not page.is_over()
    now[0] += 2
    assert page.is_over()
    page.worker.busy = True
    assert not page.is_over()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_it_works_without_network(people: Path) -> None:
    """In a namespace of its own, whose only interface is the loopback, the page is served and answers."""
    bare = ["unshare", "--net", "true"]
    if subprocess.run(bare, capture_output=True, check=False).returncode:
        pytest.skip("namespaces are not permitted here")
    program = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import fcntl, socket, struct
UP, SET_FLAGS = 0x1, 0x8914
fcntl.ioctl(socket.socket(), SET_FLAGS, struct.pack("16sh22x", b"lo", UP))
from asking import Asker, Started, part
with Started({str(people)!r}) as page:
    asker = Asker(page.port)
    asker.enter(page.token)
    asker.post("/start")
    print(part(asker.parts(), "answer"))
"""
    ran = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", program], capture_output=True, check=False, text=True
    )
    assert "10-anonymity" in ran.stdout, ran.stderr


def test_its_process_connects_to_nobody_and_ends_by_ctrl_c(
    people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Served from this process, no name is looked up."""
    from anon.command import main

    called: list[Any] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address, **_: called.append(address))
    monkeypatch.setattr(
        "webbrowser.open", lambda address: threading.Timer(0.1, os.kill, (os.getpid(), 2)).start()
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
    try:
        assert main(["explore", str(people), "--quiet"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "error: stopped by SIGINT\n"
    assert called == []
