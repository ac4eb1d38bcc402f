# SPDX-License-Identifier: Apache-2.0
"""The job of one page: its table, what is asked, and the answers, each by the verb that programs call."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anon.attackers import attack
from anon.choice import frontier
from anon.encoding import encode
from anon.errors import DataError, PrivacyWarning, UsageError
from anon.explore.asked import Form, Keys, Language, fast, first_form, form_of_point, is_fast, keys_of
from anon.pages import Origin, of_release
from anon.schema import Schema, nominal
from anon.tables import Source, files_of, read_source, read_table, write_file
from anon.verbs import Inspection, anonymize, draft_hierarchy

if TYPE_CHECKING:
    from anon.attackers import Attacked
    from anon.choice import Frontier, Point
    from anon.explore.asked import Job
    from anon.measures import Privacy
    from anon.release import Release

Progress = Callable[[str, int, int], None]

HELD_OUT = 0.2  # of the people, where attackers are tried
SUFFIXES = (".parquet", ".feather", ".csv", ".sav", ".dta", ".xlsx")
MOST_EDITED = 200_000  # characters of a hierarchy that is shown to be edited


@dataclass(frozen=True)
class Answer:
    """A release that was asked for, and what holds of it; `keys` is the job that makes it."""

    keys: Keys
    release: Release
    privacy: Privacy

    @cached_property
    def gcp(self) -> float | None:
        """The share of the detail that was lost."""
        return self.release.gcp


class Session:
    """What one page works on. Answers are made one at a time, each anew; meanwhile what is asked may change.

    `reading` are the keys of a job that say how the `source` was read, and the file of the population, whose
    table is `people`; `folder` is the only one that is written to.
    """

    def __init__(
        self,
        path: str,
        source: Source,
        inspected: Inspection,
        folder: Path,
        speak: Language,
        reading: Keys,
        people: Source | None = None,
    ) -> None:
        self.path, self.source, self.inspected, self.folder = path, source, inspected, folder
        self.speak, self.reading, self.people = speak, reading, people
        self.files = [path] if people is None else [path, str(reading["population"])]
        self.names = [column.name for column in inspected.columns]
        self.form: dict[str, str] = first_form(inspected)
        self.trees: dict[int, Path] = {}
        self.answer: Answer | None = None
        self.swept: Frontier | None = None
        self._kept = tempfile.TemporaryDirectory(prefix="anon-")  # of the user alone: mode 0700
        self._read = [*map(_state_of, self.files)]

    def close(self) -> None:
        """Remove what was uploaded."""
        self._kept.cleanup()

    def keys(self) -> Keys:
        """The job that the page asks for now."""
        return keys_of(self.form, self.names, self.trees)

    def fill(self, form: Form) -> None:
        """Take what controls hold; what is no text under a short name, and half a letter, is left out."""
        self.form |= {
            name: value.encode("utf-8", "ignore").decode()
            for name, value in form.items()
            if isinstance(value, str) and len(name) < 100
        }

    # --- answers

    def preview(self, progress: Progress) -> Answer:
        """The release as the fast method makes it of the whole table."""
        self.answer = None  # is not what is asked for any more, whatever comes
        keys = self.keys()
        return self._answer(keys if is_fast(keys) else fast(keys), progress)

    def make(self, progress: Progress, keys: Keys | None = None) -> Answer:
        """The release that `keys` ask for (None: the page), by its own method; or the one at hand."""
        keys = self.keys() if keys is None else keys
        if self.answer is not None and self.answer.keys == keys:
            return self.answer
        return self._answer(keys, progress)

    def _answer(self, keys: Keys, progress: Progress) -> Answer:
        self.answer = None  # its memory is free before another takes as much
        release = self._released(self.speak.job(keys), self.source, progress)
        progress("measure", 0, 1)
        self.answer = Answer(keys, release, release.privacy(neutral=True, population=self.people))
        pa.default_memory_pool().release_unused()
        return self.answer

    def _released(self, job: Job, source: Source, progress: Progress, **more: Any) -> Release:
        schema = _roles(job)
        require = job.requirements(self.people)
        if not require:
            raise UsageError("ask for something: nothing is required yet, such as k")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # the page shows the release's own
            asked = {**job.how(), **job.beside(), **job.options(), **more}
            return anonymize(source, schema, require=require, **asked, progress=progress)

    def sweep(self, progress: Progress) -> Frontier:
        """Many releases on two axes."""
        axes = {key: self.form[key] for key in ("privacy", "utility") if self.form.get(key)}
        keys = self.keys() | {"grid": [self.form.get("grid", "")]} | axes
        keys.pop("perturb", None)  # classes are measured, which it does not change
        of_grid = [word.partition("=")[0] for word in self.form.get("grid", "").split()]
        if "method" in of_grid:  # whose settings are not those of the one chosen
            keys = {k: v for k, v in fast(keys).items() if k != "effort"}
        elif is_fast(keys):
            keys.pop("effort")
        job = self.speak.job({key: value for key, value in keys.items() if key not in of_grid})
        schema = _roles(job)
        self.swept = frontier(self.source, schema, **job.sweep(), progress=progress)
        return self.swept

    def take(self, name: str) -> Point:
        """Ask for what a point of the frontier is."""
        points = [] if self.swept is None else [each for each in self.swept.points if each.name == name]
        if not points or points[0].configuration is None:
            raise UsageError("there is no such point any more: try the grid again")
        self.form |= form_of_point(points[0].parameters)
        return points[0]

    def attacked(self, progress: Progress) -> Attacked:
        """What attackers come to, on people of the table and on others that were held out."""
        keys = self.keys() if self.answer is None else self.answer.keys
        release = self._released(self.speak.job(keys), self.source, progress, control=HELD_OUT)
        progress("attack", 0, 1)
        return attack(release)

    def rows(self, most: int = 6) -> tuple[pa.Table, pa.Table]:
        """Some rows as they were and as they are published, evenly through the release."""
        assert self.answer is not None
        release = self.answer.release
        published, whole = release.table, read_table(self.source)
        n = min(most, published.num_rows)
        places = [i * published.num_rows // n for i in range(n)]
        shown = [name for name in whole.column_names if name in {*published.column_names}]
        return whole.select(shown).take(release.classes.rows[places]), published.take(places)

    # --- hierarchies

    def draft(self, i: int) -> None:
        """Draft a hierarchy of a column from its values."""
        self.plant(i, draft_hierarchy(self.source, self.names[i]).text)

    def plant(self, i: int, text: str) -> None:
        """Take the text of an ARX file as the hierarchy of a column, if it is one of its values."""
        name = self.names[i]
        path = Path(self._kept.name) / f"{i}.{os.urandom(4).hex()}.csv"
        path.write_text(text, encoding="utf-8")
        try:
            encode(read_table(self.source).select([name]), Schema([nominal(name, hierarchy=str(path))]))
        except Exception:
            path.unlink()
            raise
        self.fell(i)
        self.trees[i] = path
        if self.inspected.columns[i].kind == "numeric" and not self.form.get(f"kind.{i}"):
            self.form[f"kind.{i}"] = "nominal"  # its labels are what is published

    def fell(self, i: int) -> None:
        """Forget the hierarchy of a column."""
        if i in self.trees:
            self.trees.pop(i).unlink()

    def without_paths(self, words: str) -> str:
        """Words in which a hierarchy that is kept here is called by its column."""
        path = re.escape(self._kept.name) + r"/(\d+)\.[0-9a-f]+\.csv"
        return re.sub(path, lambda found: f"hierarchy of {self.names[int(found[1])]}", words)

    def tree_text(self, i: int) -> str | None:
        """The hierarchy as it can be edited; None where it is too long for that."""
        text = self.trees[i].read_text("utf-8")
        return text if len(text) <= MOST_EDITED else None

    # --- export

    def export(self, name: str, replacing: bool, report: bool, progress: Progress) -> dict[str, str]:
        """Write the release, its job and its hierarchies into the folder; their names, and the command.

        What controls hold, and hierarchies are, when it begins, is exported. Raises UsageError, before
        anything is written, where a file is there and is not to be replaced, or the input was written since.
        """
        if not re.fullmatch(r"[^/\\\0]{1,100}", name) or name.startswith(".") or Path(name).name != name:
            raise UsageError("the name of the release is that of a file, without a folder")
        stem, suffix = os.path.splitext(name)
        if suffix not in SUFFIXES:
            raise UsageError(f"the name of the release ends in one of {', '.join(SUFFIXES)}")
        if [*map(_state_of, self.files)] != self._read:
            raise UsageError("the input changed since it was read: start anon explore again")
        kept = dict(self.trees)
        keys = keys_of(dict(self.form), self.names, kept)
        of_keys = keys.get("hierarchy", {})
        used = [i for i, path in kept.items() if of_keys.get(self.names[i]) == str(path)]
        trees = _tree_files(stem, {i: self.names[i] for i in used})
        texts = {i: kept[i].read_bytes() for i in used}
        job_file, page = f"{stem}.job.toml", f"{stem}.report.html"
        written = [name, job_file, *trees.values(), *([page] if report else [])]
        if keys.get("publish") == "bucketization":
            written.append(f"{stem}.sensitive{suffix}")
        self._refuse(written, replacing)
        named = zip(("input", "population"), map(self._named, self.files), strict=False)
        exported = {**self.reading, **keys, **dict(named), "output": name}
        if trees:
            exported["hierarchy"] = of_keys | {self.names[i]: file for i, file in trees.items()}
        release = self._as_made(keys, name, progress)
        if not release.meets_requirements:
            raise UsageError("the release does not meet what is required, and is not written")
        progress("write", 0, 1)  # the last place that can end it: all files are written, or none
        for i, file in trees.items():
            write_file(self.folder / file, texts[i])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            release.write(self.folder / name, **self.speak.job(keys).write_options())
        write_file(self.folder / job_file, self.speak.text(exported).encode())
        command = shlex.join(["anon", "anonymize", "--config", job_file])
        if report:
            files = [str(self.folder / each) for each in (name, job_file)]
            origin = Origin(command, (self.path,) if os.path.isfile(self.path) else (), tuple(files), ())
            of_release(release, origin=origin).write(self.folder / page)
        return {"command": command, "files": "\n".join(written)}

    def _named(self, path: str) -> str:
        """A file as a job in the folder names it."""
        return path if "://" in path else os.path.relpath(path, self.folder)

    def _refuse(self, files: list[str], replacing: bool) -> None:
        there = [each for each in files if os.path.lexists(self.folder / each)]
        if any(os.path.islink(self.folder / each) for each in there):
            raise UsageError(f"{there[0]} is a link, and is not written through: choose another name")
        if there and not replacing:
            raise UsageError(f"{', '.join(there)}: there already; choose another name, or ask to replace")
        read = [file for files in self._read for file, *_ in files]
        if any(os.path.samefile(self.folder / each, file) for each in there for file in read):
            raise UsageError("this is the input, which is never written over: choose another name")

    def _as_made(self, keys: Keys, output: str, progress: Progress) -> Release:
        """The release as the command makes it, which reads CSV that becomes CSV so that cells without a role
        stay as they were written.
        """
        job = self.speak.job({**self.reading, **keys, "output": output})
        schema = job.roles()
        typed = None if schema is None else job.typed(schema)
        if typed is None:
            return self.make(progress, keys).release
        again = read_source(self.path, **job.read_options(), typed=typed, engine="local", progress=progress)
        return self._released(job, again, progress)


def _roles(job: Job) -> Schema:
    schema = job.roles()
    if schema is None or not schema.quasi:
        raise UsageError("choose a quasi-identifier: no column is one yet")
    return schema


def _tree_files(stem: str, names: Mapping[int, str]) -> dict[int, str]:
    """A file for the hierarchy of each column: no other's, nor that of the values of a bucketization."""
    files: dict[int, str] = {}
    for i, name in names.items():
        slug = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:40].strip("-") or f"column-{i}"
        while slug.lower() in {"sensitive", *map(str.lower, files.values())}:
            slug += f"-{i}"
        files[i] = slug
    return {i: f"{stem}.{slug}.csv" for i, slug in files.items()}


def _state_of(path: str) -> list[tuple[Path, int, int]]:
    """What tells whether files were written since, or others are there; nothing of what is no file."""
    try:
        return [(each, each.stat().st_mtime_ns, each.stat().st_size) for each in files_of([path])]
    except (DataError, OSError):
        return []
