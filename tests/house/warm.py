# SPDX-License-Identifier: Apache-2.0
"""Programs run by a Python that has imported `anon` already: each is a fork of it, which saves its start.

    with serving(folder) as client:
        subprocess.run([sys.executable, "-IS", client, "-m", "anon", "check", ...])

The client is given the words that follow `python`: a file or `-m MODULE`, and arguments. The program has
the client's folder, environment and standard streams, and the client ends with its exit code.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CLIENT = """
import json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({address!r})
said = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(asked, [len(said).to_bytes(4, "big")], [0, 1, 2])
asked.sendall(said)
sys.exit(asked.recv(1)[0])
"""
IMPORTED = (
    "anon.public, anon.command.attacks, anon.command.batches, anon.command.entry, anon.command.job, "
    "anon.command.job_file, anon.command.releases, anon.command.risks, anon.command.trials, numpy.random, "
    "pandas, pyarrow.csv, pyarrow.pandas_compat, pyarrow.parquet, rich.table"
)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The path of a client, while a server runs."""
    address = str(folder / "socket")
    client = folder / "client.py"
    client.write_text(CLIENT.format(address=address))
    program = f"import {IMPORTED}; from warm import serve; serve({address!r})"
    here = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": here}
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield str(client)


def serve(address: str) -> None:
    """Run what clients ask for, until standard input ends."""
    gc.freeze()  # so that no fork goes through what was imported, and copies its pages
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([door, sys.stdin], [], [])[0]:
            asked, _ = door.accept()
            if os.fork() == 0:
                door.close()
                _answer(asked)
                return
            asked.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _answer(asked: socket.socket) -> None:
    """Run one program in a fork, which returns when it has ended, and tell the client how it ended."""
    size, streams, _, _ = socket.recv_fds(asked, 4, 3)
    with asked.makefile("rb") as file:
        words, folder, environment = json.loads(file.read(int.from_bytes(size, "big")))
    child = os.fork()
    if child:
        asked.sendall(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
        os._exit(0)
    asked.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if words[0] == "-m":
        sys.argv[:] = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = words
        runpy.run_path(words[0], run_name="__main__")
