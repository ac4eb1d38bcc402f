# SPDX-License-Identifier: Apache-2.0
"""The compiled half of the package: one extension per room of `anoncore`.

The kernels are C11 with `__int128`: gcc or clang; on Windows clang-cl, which must be on the path.

`ANON_TIGHT=1` builds with growing arrays that have no room to spare (`anoncore/memory.pxd`);
`ANON_DEBUG=1` does that, with bounds checks on and the C compiler's warnings as errors;
`ANON_SANITIZE=1` adds the address and undefined-behavior sanitizers.
"""

import hashlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SANITIZE = os.environ.get("ANON_SANITIZE") == "1"
DEBUG = SANITIZE or os.environ.get("ANON_DEBUG") == "1"
TIGHT = DEBUG or os.environ.get("ANON_TIGHT") == "1"
KERNELS = Path("src/anoncore")
# One kind of build never passes for another; a second build of a kind compiles what has changed since.
KIND = "sanitized" if SANITIZE else "debug" if DEBUG else "tight" if TIGHT else "plain"
BUILD = Path("build", f"{KIND}-cython-{Cython.__version__}")

WINDOWS = sys.platform == "win32"

if not WINDOWS:
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        sys.exit(
            f"anon compiles its kernels and {compiler} is not here: install gcc (Debian: apt install gcc)"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit("anon compiles its kernels and Python.h is not here: Debian has it in python3-dev")

# Aligned loops: without, a change elsewhere in a kernel moves its hot loops and up to 8 % of its speed.
# No symbols for a debugger, which would be four fifths of what is installed.
optimized = ["/O2"] if WINDOWS else ["-O3", "-falign-functions=64", "-falign-loops=32", "-g0"]
compile_args, link_args = optimized, []
if DEBUG:
    # Cython's own C code leaves functions and labels unused.
    compile_args = ["-O1", "-g1", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-label"]
if SANITIZE:
    sanitizers = [
        "-fsanitize=address,undefined,float-cast-overflow",
        "-fno-sanitize-recover=undefined,float-cast-overflow",
    ]
    compile_args, link_args = compile_args + sanitizers, sanitizers


class Build(build_ext):
    """Compiles with clang-cl where the platform's own compiler lacks 128-bit integers."""

    def build_extensions(self) -> None:
        if WINDOWS:
            self.compiler.initialize()
            self.compiler.cc = shutil.which("clang-cl") or sys.exit(
                "clang-cl is not on the path: install LLVM"
            )
        super().build_extensions()


def checked_copy(folder: Path) -> Path:
    """Copy the kernels with every `boundscheck=False` turned on, and return where they lie."""
    shutil.copytree(KERNELS, folder, dirs_exist_ok=True)
    for source in folder.glob("*.pyx"):
        source.write_text(source.read_text().replace("boundscheck=False", "boundscheck=True"))
    return folder


folder = checked_copy(BUILD / "anoncore") if DEBUG else KERNELS

SHARED = "anoncore._shared"  # what Cython would repeat in every kernel: the buffers


def kernel(name: str, source: Path) -> Extension:
    """The extension of one source."""
    return Extension(
        name,
        [str(source)],
        depends=[str(source)] if source.exists() else [],  # sources are C when a distribution lists them
        define_macros=[("ANON_TIGHT", "1")] if TIGHT else [],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )


pyx = sorted(folder.glob("*.pyx"))
told = BUILD / "sources.sha256"
digest = hashlib.sha256(
    b"".join(each.read_bytes() for each in [Path(__file__), *sorted(folder.glob("*.p*"))])
)
in_c = {each.stem: Path(BUILD, each).with_suffix(".c") for each in [*pyx, folder / "_shared.c"]}

if told.exists() and told.read_text() == digest.hexdigest() and all(each.exists() for each in in_c.values()):
    # Cython would do all again: in the environment that pip makes for a build its own files are always newer.
    modules = [kernel(f"anoncore.{name}", source) for name, source in in_c.items()]
    for module, source in zip(modules, pyx, strict=False):
        module.depends.append(str(source))
else:
    before = {source: (source.read_bytes(), source.stat()) for source in BUILD.rglob("*.c")}
    modules = cythonize(
        [kernel(f"anoncore.{source.stem}", source) for source in pyx]
        + [kernel(SHARED, folder / "_shared.c")],
        build_dir=str(BUILD),
        compiler_directives={"language_level": 3, "show_performance_hints": not DEBUG},
        include_path=["src"],
        shared_utility_qualified_name=SHARED,
        nthreads=os.cpu_count() if sys.platform == "linux" else 0,
    )
    for source, (text, times) in before.items():  # what came out the same is not compiled again
        if source.exists() and source.read_bytes() == text:
            os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    told.write_text(digest.hexdigest())

setup(
    ext_modules=modules,
    cmdclass={"build_ext": Build},
    options={"build": {"build_base": str(BUILD)}, "build_ext": {"parallel": os.cpu_count()}},
)
