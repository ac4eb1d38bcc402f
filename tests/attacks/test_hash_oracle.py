# SPDX-License-Identifier: Apache-2.0
"""Somebody who knows everything but who has which illness, and has all that was handed out.

The roster of 20 people is known, and the release says which illnesses each class holds, so that few
inputs are left that it can have come from. Every candidate is hashed, and every candidate is anonymized
and measured again: nothing that was handed out may tell the right one from the others.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
import anon.release.metadata
from anon import pages as report
from anon.command.entry import main
from anon.html import document
from anon.measures.declared import COSTS, away
from anon.pages.origin import Origin

AGES = [*(21, 22, 23, 24, 26), *(32, 34, 35, 36, 39), *(41, 42, 44, 47, 48), *(57, 61, 62, 66, 68)]
SEXES = list("ffmmfmfmfmfmffmmmffm")
ILLNESSES = [
    *("flu", "hiv", "flu", "hiv", "flu"),
    *("hiv", "hiv", "flu", "flu", "hiv"),
    *("hiv", "flu", "flu", "hiv", "flu"),
    *("flu", "flu", "hiv", "hiv", "hiv"),
]
SCHEMA = anon.Schema(["age", "sex"], ["illness"])
ROLES = ["--quasi", "age,sex", "--sensitive", "illness"]


def people(illnesses: list[str]) -> pa.Table:
    return pa.table({"age": AGES, "sex": SEXES, "illness": illnesses})


def file_of(illnesses: list[str]) -> bytes:
    """The input as its owner had it; whoever knows the format can write it for other illnesses."""
    rows = (f"{','.join(map(str, row))}\n" for row in zip(AGES, SEXES, illnesses, strict=True))
    return "".join(["age,sex,illness\n", *rows]).encode()


def release(illnesses: list[str]) -> anon.Release:
    return anon.anonymize(people(illnesses), SCHEMA, require=[anon.KAnonymity(5)])


def candidates(released: pa.Table) -> Iterator[list[str]]:
    """Every way to deal the illnesses of each class to the people whom its cells cover."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in released.to_pylist():
        names.setdefault((row["age"], row["sex"]), []).append(row["illness"])
    ways = []
    for (age, sex), illnesses in names.items():
        low, high = (int(end) for end in re.findall(r"\d+", age))
        covered = [i for i in range(20) if low <= AGES[i] <= high and SEXES[i] in sex]
        assert len(covered) == len(illnesses) == 5
        orders = sorted(set(itertools.permutations(illnesses)))
        ways.append([dict(zip(covered, order, strict=True)) for order in orders])
    for each in itertools.product(*ways):
        dealt = {person: illness for part in each for person, illness in part.items()}
        yield [dealt[i] for i in range(20)]


def digests(content: bytes) -> Iterator[bytes]:
    """In every form that a file could hold it in."""
    for name in ("sha256", "sha1", "md5"):
        digest = hashlib.new(name, content).digest()
        yield from (digest, digest.hex().encode(), base64.b64encode(digest).rstrip(b"="))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands write: everything named `public` is handed out, as is the release."""
    folder = tmp_path_factory.mktemp("oracle")
    (folder / "people.csv").write_bytes(file_of(ILLNESSES))
    people, out = str(folder / "people.csv"), str(folder / "release.parquet")
    for command, words in (
        ("anonymize", [people, "-o", out, "--k", "5", *ROLES]),
        ("check", [out, "--k", "5", "--roles-from-file"]),
        ("compare", [people, out, *ROLES]),
    ):
        public = str(folder / f"public-{command}.html")
        assert main([command, *words, "--report-public", public, "-q"]) == 0
    return folder


@pytest.fixture(scope="module")
def owners(folder: Path) -> str:
    """All that the owner's page says."""
    made = report.of_release(release(ILLNESSES), origin=Origin(inputs=(str(folder / "people.csv"),)))
    assert made.facts["audience"] == "owner"
    return json.dumps(made.facts)


def handed_out(folder: Path) -> list[Path]:
    public = sorted(folder.glob("public-*.html"))
    assert len(public) == 3
    return [folder / "release.parquet", *public]


def test_no_candidate_is_confirmed_by_its_hash(folder: Path, owners: str) -> None:
    contents = [path.read_bytes() for path in handed_out(folder)]
    contents.append(json.dumps(anon.release.metadata.read_metadata(folder / "release.parquet")).encode())
    public = b"\n".join(contents)
    known = {digest.encode() for digest in re.findall(r"\b[0-9a-f]{64}\b", owners)}
    confirmed = []
    n_candidates = 0
    for illnesses in candidates(pq.read_table(folder / "release.parquet")):
        n_candidates += 1
        for digest in digests(file_of(illnesses)):
            assert digest not in public
            if digest in known:
                confirmed.append(illnesses)
    assert n_candidates > 1000
    assert confirmed == [ILLNESSES]  # the attack is right: the owner's page names the one input


def test_what_is_handed_out_is_the_same_for_every_candidate() -> None:
    """Made and measured again from a candidate it is what it was: no rounded measure confirms one either."""
    all_of_them = list(candidates(release(ILLNESSES).table))
    pages, lost = set(), set()
    for illnesses in [ILLNESSES, *all_of_them[:: len(all_of_them) // 40]]:
        made = release(illnesses)
        page = report.of_release(made, audience="public")
        pages.add(json.dumps([page.facts, made.metadata]) + page.html())
        utility = made.utility()
        lost.add(tuple(away(getattr(utility, name), COSTS[name]) for name in ("u_loss", "kl")))
    assert len(pages) == 1
    assert len(lost) > 2  # rounded as they would have been, these two tell candidates from one another


def test_a_public_page_has_no_number_of_the_owners(folder: Path, owners: str) -> None:
    exact = {number for number in numbers(json.loads(owners)) if number != float(f"{number:.1e}")}
    assert len(exact) > 30
    for path in folder.glob("public-*.html"):
        html = path.read_text()
        text = re.sub(r"<script.*?</script>|<style.*?</style>|base64,[^\"]*", "", html, flags=re.DOTALL)
        for number in exact:
            assert repr(number) not in text
            assert f">{document.number(number)}<" not in text
        assert str(folder) not in html
        assert "people.csv" not in html
        for name in ("u_loss", "The worst class", "seed", "suppressed rows", "arning"):
            assert name not in text


def numbers(document: object) -> Iterator[float]:
    if isinstance(document, dict):
        yield from itertools.chain(*map(numbers, document.values()))
    elif isinstance(document, list):
        yield from itertools.chain(*map(numbers, document))
    elif isinstance(document, float):
        yield document


def test_the_certificate_of_a_public_page_is_about_the_release(folder: Path) -> None:
    digest = hashlib.sha256((folder / "release.parquet").read_bytes()).hexdigest()
    for path in folder.glob("public-*.html"):
        assert re.findall(r"\b[0-9a-f]{64}\b", path.read_text()) == [digest]
    origin = Origin("anon --seed 7", inputs=("no such file",), released=(str(folder / "release.parquet"),))
    assert origin.public_dict()["released"] == {"release.parquet": digest}
