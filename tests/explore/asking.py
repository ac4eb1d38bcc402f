# SPDX-License-Identifier: Apache-2.0
"""A page of `anon explore` in a process of its own, and who asks it without a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit


class Started:
    """`anon explore FILE --no-browser`; `door` is the file that would be opened."""

    def __init__(self, *words: str | Path, before: tuple[str, ...] = ()) -> None:
        command = [*before, sys.executable, "-m", "anon", "explore", *map(str, words), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        found = re.search(r"file://(\S+)", said)
        assert found, said + self.process.stderr.read()
        self.door = Path(found[1])
        form = self.door.read_text()
        [address], [self.token] = re.findall('action="([^"]+)"', form), re.findall('value="([^"]+)"', form)
        self.port = urlsplit(address).port or 0

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> str:
        """End it by Ctrl-C, where it runs; what it said since."""
        self.process.send_signal(signal.SIGINT)
        out, told = self.process.communicate(timeout=60)
        return out + told


class Answer(NamedTuple):
    """What was answered; names of headers are in small letters."""

    status: int
    text: str
    headers: dict[str, str]


class Asker:
    """Who asks a port of this machine as the page does, or as others might."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie, self.key = port, "", ""
        self.host = f"127.0.0.1:{port}"

    def _sent(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str | None]
    ) -> tuple[HTTPConnection, HTTPResponse]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        own: dict[str, str | None] = {"host": self.host, "origin": f"http://{self.host}"}
        own |= {"cookie": self.cookie, "x-anon-key": self.key, "content-length": str(len(body))}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**own, **headers}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        return connection, connection.getresponse()

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        """What is answered; `headers` replace those of the page, None leaves one out."""
        connection, found = self._sent(method, path, body, headers or {})
        with closing(connection), found:
            return Answer(found.status, found.read().decode(), dict(found.getheaders()))

    def enter(self, token: str, **headers: str | None) -> Answer:
        """Bring the token; keep the cookie and the key that are given for it."""
        told = {"origin": "null", "content-type": "application/x-www-form-urlencoded", **headers}
        answer = self.ask("POST", "/enter", urlencode({"token": token}).encode(), told)
        if answer.status == 200:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
            [self.key] = re.findall('data-key="([^"]+)"', answer.text)
        return answer

    def post(self, path: str, content: Any = None) -> Answer:
        """As the page asks."""
        return self.ask("POST", path, json.dumps(content or {}).encode())

    def parts(self) -> Iterator[dict[str, Any]]:
        """What the page is told, as it comes."""
        connection, found = self._sent("POST", "/events", b"", {})
        with closing(connection), found:
            assert found.status == 200
            while line := found.readline():
                if line.strip():
                    yield json.loads(line)


def part(parts: Iterator[dict[str, Any]], name: str) -> str:
    """The next HTML of a part of the page."""
    for each in parts:
        if each["id"] == name and each.get("html"):
            return str(each["html"])
    raise AssertionError(f"the page was told no {name}")


def memory(process: int, what: str = "VmRSS") -> int:
    """Bytes that a process holds, or held at most (`VmHWM`)."""
    [line] = [each for each in Path(f"/proc/{process}/status").read_text().splitlines() if what in each]
    return int(line.split()[1]) * 1024


def seconds(process: int) -> float:
    """Processor seconds that a process took."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_running(process: int, seconds: float) -> bool:
    """Whether it still runs after so long; returns as soon as it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(process, os.WNOHANG)[0]:
            return False
        time.sleep(0.1)
    return True
