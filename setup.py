# SPDX-License-Identifier: Apache-2.0
"""The compiled half of the package: one extension per room of `anoncore`.

`ANON_DEBUG=1` turns on bounds checks and makes the C compiler's warnings errors.
`ANON_SANITIZE=1` builds with the address and undefined-behaviour sanitizers.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("ANON_DEBUG") == "1"
SANITIZE = os.environ.get("ANON_SANITIZE") == "1"

compile_args = ["-O3"]
link_args: list[str] = []
directives = {"language_level": 3}
if DEBUG:
    compile_args = ["-O1", "-g", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unreachable-code"]
    directives |= {"boundscheck": True, "overflowcheck": False}
if SANITIZE:
    compile_args += ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    link_args += ["-fsanitize=address,undefined"]

ROOMS = sorted(path.stem for path in Path("src/anoncore").glob("*.pyx"))

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"anoncore.{room}",
                [f"src/anoncore/{room}.pyx"],
                extra_compile_args=compile_args,
                extra_link_args=link_args,
            )
            for room in ROOMS
        ],
        build_dir="build",
        compiler_directives=directives,
        include_path=["src"],
    )
)
