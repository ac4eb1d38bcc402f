# SPDX-License-Identifier: Apache-2.0
"""Roles that the name of a column suggests, by the words of `roles.toml`."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from anon.schema.attribute import Role

IDENTIFYING_SHARE = 0.9  # a column with a greater share of distinct values identifies people
MOST_WORDS = 4  # of a name, that are one word of the list


@dataclass(frozen=True)
class Subject:
    """What words of one group speak of.

    `things`: what a person has or has not, so that two values only tell which. `numbers`: only a column of
    numbers is it. `person`: it does not change while a person is the same. `place`: nor do places in it.
    `weak`: it counts where no other group has a word. `key`: the key of a job that names such a column.
    """

    role: Role
    what: str
    things: bool = False
    numbers: bool = False
    person: bool = False
    place: bool = False
    weak: bool = False
    key: str | None = None


@dataclass(frozen=True)
class Shape:
    """A form of text: `pattern` as RE2 reads it; `iban`: its check digits are right, too."""

    role: Role
    what: str
    pattern: str
    iban: bool = False


@dataclass(frozen=True)
class Named:
    """What a column's name speaks of, and the words by which."""

    word: str
    subject: Subject

    @property
    def role(self) -> Role:
        """The role of what the name speaks of."""
        return self.subject.role


def named(name: str) -> Named | None:
    """What a column's name speaks of; None where no word of it is in a list."""
    words = _words(name)
    whole, lists = "".join(words), _lists()
    matches: list[tuple[bool, int, int, str]] = []
    for start in range(len(words)):
        for stop in range(start + 1, min(start + MOST_WORDS, len(words)) + 1):
            joined, spaced = "".join(words[start:stop]), " ".join(words[start:stop])
            for pattern in (joined, "=" + joined if joined == whole else None):
                if pattern in lists.words:
                    matches.append((*lists.words[pattern], spaced))
        for length in range(3, len(words[start]) + 1):
            stem = words[start][:length]
            if stem + "*" in lists.words:
                matches.append((*lists.words[stem + "*"], words[start]))
    if not matches:
        return None
    _, _, group, word = min(matches)
    return Named(word, lists.subjects[group])


def role_of_name(name: str) -> Role:
    """The role that a column's name speaks of; neutral where it says nothing."""
    match = named(name)
    return Role.NEUTRAL if match is None else match.role


def shapes() -> tuple[Shape, ...]:
    """The forms of text by which values tell a role, those that identify first."""
    return _lists().shapes


@dataclass(frozen=True)
class _Lists:
    """`words`: of each pattern (a whole name's begins with =, a stem ends in *) whether its group is weak,
    the number of its words below 0, and its group; so the least match is the best.
    """

    subjects: tuple[Subject, ...]
    words: dict[str, tuple[bool, int, int]]
    shapes: tuple[Shape, ...]


@cache
def _lists() -> _Lists:
    data = tomllib.loads(files("anon.schema").joinpath("roles.toml").read_text("utf-8"))
    subjects = []
    words: dict[str, tuple[bool, int, int]] = {}
    for number, group in enumerate(data["group"]):
        by_language = group.pop("words")
        subject = Subject(**{**group, "role": Role(group["role"])})
        subjects.append(subject)
        for word in (word for listed in by_language.values() for word in listed):
            rank = (subject.weak, -len(word.split()), number)
            for pattern in _spellings(word):
                words[pattern] = min(rank, words.get(pattern, rank))
    shapes = tuple(Shape(**{**shape, "role": Role(shape["role"])}) for shape in data["shape"])
    return _Lists(tuple(subjects), words, shapes)


def _spellings(word: str) -> set[str]:
    """A listed word as names may spell it: without spaces and accents, umlauts also with an e."""
    german = word
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
        german = german.replace(umlaut, letters)
    return {_folded(each).replace(" ", "") for each in (word, german)}


def _folded(text: str) -> str:
    """Text without accents, in small letters."""
    return _without_accents(text).casefold()


def _without_accents(text: str) -> str:
    if text.isascii():  # nearly all are, and each start of the command reads the lists
        return text
    letters = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _words(name: str) -> list[str]:
    """The words of a name: split at signs, digits and where small letters turn to capitals; folded."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", _without_accents(name))
    return re.findall(r"[a-z]+|[0-9]+", apart.casefold())
