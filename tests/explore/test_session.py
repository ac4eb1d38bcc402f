# SPDX-License-Identifier: Apache-2.0
"""What a page asks for is a job, and its answers are those of the verbs."""

from __future__ import annotations

import re
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import anon
from anon.choice import check_measures, grid
from anon.command import main
from anon.command.ends import failure_of
from anon.command.job import load_job
from anon.command.job_file import keys_text
from anon.explore import Language, Session, views
from anon.explore.asked import FAST, METHODS, OF_METHODS, fast, form_of_point, keys_of
from anon.explore.server import Page
from anon.explore.worker import Superseded, Worker
from anon.methods import BY_NAME
from anon.requirements import REQUIREMENT_OPTIONS

NAMES = ["name", "age", "zip", "sex", "illness", "visit"]
LANGUAGE = Language(
    lambda keys: load_job(None, keys), keys_text, lambda error: str(failure_of(error, False)["error"])
)
FORM = {
    **{f"role.{i}": role for i, role in enumerate(("identifying", *["quasi"] * 3, "sensitive", ""))},
    **{"k": "5", "how": FAST},
}
TREE = "".join(f"{code:05};{str(code)[:1].zfill(1)}****;*\n" for code in range(10_000, 70_000, 10_000))


def on(stage: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file whose last column changes when it is read as numbers and written again."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    lines = [
        f"N{i},{20 + i % 50},{(i % 6 + 1) * 10_000},{'mf'[i % 2]},ill{i * 7 % 5},{i % 3}.50"
        for i in range(400)
    ]
    path.write_text("\n".join([",".join(NAMES), *lines]) + "\n")
    return path


@pytest.fixture
def session(people: Path, tmp_path: Path) -> Iterator[Session]:
    source = anon.read_source(str(people), engine="local")
    opened = Session(str(people), source, anon.inspect(source), tmp_path, LANGUAGE, {})
    opened.fill(FORM)
    yield opened
    opened.close()


def test_half_a_letter_in_a_control_does_not_stop_the_page(session: Session) -> None:
    session.fill({"k": "\ud8005"})
    assert session.preview(on).privacy.k >= 5
    assert views.content(session).encode()


def test_a_form_is_the_job_of_its_controls() -> None:
    form = {
        **FORM,
        "l": "2",
        "l_kind": "distinct",
        "suppress": "0.1",
        "top.1": "60",
        "hierarchy.2": "prefix:3",
    }
    form |= {"kind.1": "numeric", "least.2": "3", "kind.0": "nominal", "unit": "x", "missing": "suppress"}
    keys = keys_of(form, NAMES, {})
    assert keys == {
        "quasi": ["age", "zip", "sex"],
        "sensitive": ["illness"],
        "identifying": ["name"],
        **{"k": 5, "l": 2.0, "l_kind": "distinct", "suppress": 0.1, "missing": "suppress", "effort": "fast"},
        **{"kind": {"age": "numeric"}, "top": {"age": 60}, "hierarchy": {"zip": "prefix:3"}},
        "least": {"zip": 3},
    }
    job = load_job(None, keys)
    schema = job.roles()
    assert schema is not None
    assert [each.name for each in schema.quasi] == keys["quasi"]
    assert [str(each) for each in job.requirements()] == ["5-anonymity", "2-diversity (distinct)"]
    assert load_job(None, tomllib.loads(keys_text(keys))) == job


def test_columns_of_a_household_linked_and_perturbed_ones_are_keys() -> None:
    """Those that are perturbed alike are so together; a setting that the role has no use for is left out."""
    form = {
        **FORM,
        "role.1": "household",
        "linked.2": "age",
        "perturb.4": "rank-swap p=0.05",
        "linked.4": "zip",
    }
    form |= {"role.5": "neutral", "perturb.5": " rank-swap p=0.05 ", "perturb.3": "shuffle by=age"}
    keys = keys_of(form, NAMES, {})
    assert keys["quasi"] == ["age", "zip", "sex"]
    assert (keys["household"], keys["linked"]) == (["age"], [["age", "zip"]])
    assert keys["perturb"] == [{"method": "rank-swap", "columns": ["illness", "visit"], "p": 0.05}]
    assert load_job(None, tomllib.loads(keys_text(keys))) == load_job(None, keys)
    for wrong in ("blur p=5", "rank-swap q=5", "noise amount=much"):
        with pytest.raises(anon.UsageError, match=r"perturbation is written|give a number"):
            keys_of({**form, "perturb.5": wrong}, NAMES, {})


def test_axes_are_measures() -> None:
    check_measures(name for names in views.AXES.values() for name in names)


def test_a_population_is_of_a_file_that_the_command_names(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs one is asked for on the page, and the job that is exported names the file."""
    of_all = tmp_path / "everybody.csv"
    text = people.read_text()
    of_all.write_text(text + text.partition("\n")[2])
    source, everybody = (anon.read_source(str(path), engine="local") for path in (people, of_all))
    reading = {"population": str(of_all)}
    opened = Session(str(people), source, anon.inspect(source), tmp_path, LANGUAGE, reading, everybody)
    opened.fill({**FORM, "k": "", "k_map": "8", "order": "input"})
    assert 'name="presence"' in views.content(opened)
    made = opened.preview(on)
    assert made.privacy.population is not None
    assert 0 < made.privacy.population.journalist.max <= 1 / 8
    assert "greatest risk in the population" in views.risk(made)
    done = opened.export("out.parquet", False, False, on)
    written = tomllib.loads((tmp_path / "out.job.toml").read_text())
    assert (written["population"], written["k_map"]) == ("everybody.csv", 8)
    first = (tmp_path / "out.parquet").read_bytes()
    monkeypatch.chdir(tmp_path)
    assert main([*done["command"].split()[1:], "--quiet"]) == 0
    assert (tmp_path / "out.parquet").read_bytes() == first
    with pytest.raises(anon.UsageError, match="never written over"):
        opened.export("everybody.csv", True, False, on)
    of_all.write_text(text)
    with pytest.raises(anon.UsageError, match="changed since it was read"):
        opened.export("out.parquet", True, False, on)
    opened.close()


@pytest.mark.parametrize("method", METHODS)
def test_settings_are_those_of_the_method_that_is_chosen(method: str) -> None:
    """What another method would take is left out, so that no list must be emptied to try one."""
    given = {each.key: "1" for each in OF_METHODS if each.kind in (int, float)}
    keys = keys_of({**FORM, **given, "how": f"method={method}"}, NAMES, {})
    own = {each.key for each in BY_NAME[method].options}
    assert {*given} & {*keys} == {*given} & own
    assert keys["method"] == method
    assert fast(keys) == {**{k: v for k, v in keys.items() if k not in {*own, "method"}}, "effort": "fast"}


@pytest.mark.parametrize(
    "form",
    [
        {"k": "many"},
        {"k": "nan"},
        {"t": "0,2"},
        {"k": "2.5"},
        {"l": "2", "role.4": ""},
        {"k": ""},
        {"role.1": "unit", "role.2": "unit"},
        {"hierarchy.2": "/etc/passwd"},
        {"hierarchy.2": "prefix:x"},
        {"role.1": "", "role.2": "", "role.3": ""},
        {"numeric": "wrong"},
        {"l_kind": "entropy"},
    ],
    ids=str,
)
def test_what_makes_no_job_is_an_error_in_words(session: Session, form: dict[str, str]) -> None:
    session.fill({**FORM, **form})
    with pytest.raises(anon.AnonError):
        session.preview(on)


def test_options_are_read_by_their_kinds() -> None:
    options = {each.key: each for each in (*REQUIREMENT_OPTIONS, *OF_METHODS)}
    told = {"k": "5", "t": "0.2", "enhanced": "true", "levels": "1,0,2", "split": "age, zip", "subsets": "3"}
    assert {key: options[key].of_text(text) for key, text in told.items()} == {
        **{"k": 5, "t": 0.2, "enhanced": True, "levels": [1, 0, 2], "split": ["age", "zip"], "subsets": 3}
    }


@pytest.mark.parametrize(
    "text",
    [
        "k=5,10 method=mondrian,curve",
        "k=3 l=2 l_kind=distinct,entropy method=curve effort=best",
        "k=3 t=0.2:0.4:2 t_distance=equal publish=bucketization",
        "k=3 method=mondrian relaxed=true suppress=0.1",
        "k=3 method=full-domain suppress=0.05 numeric=level quality=dm",
        "k=3 method=curve loss=ordered",
        "k=3 method=kmembers,tgc numeric=midpoint",
    ],
)
def test_a_point_of_a_frontier_that_is_taken_is_the_job_of_that_point(text: str) -> None:
    for point in grid(text):
        keys = keys_of({**FORM, "delta": "1", **form_of_point(point.parameters)}, NAMES, {})
        job = load_job(None, keys)
        assert tuple(job.requirements()) == point.require
        made = job.how()
        assert made.get(
            "method", anon.Mondrian() if made.get("effort") == "fast" else None
        ) == point.method or (point.method == anon.Curve(made["effort"]))
        published = {key: getattr(point, key) for key in ("publish", "numeric", "suppress")}
        default = {"publish": "generalization", "numeric": "interval", "suppress": 0}
        assert {**default, **{k: v for k, v in job.options().items() if k in default}} == published


def test_the_preview_is_the_release_of_the_fast_method(session: Session) -> None:
    session.fill({**FORM, "how": "effort=best", "l": "2", "l_kind": "distinct"})
    looked = session.preview(on)
    assert str(looked.release.summary()["method"]).startswith("Mondrian")
    made = session.make(on)
    assert str(made.release.summary()["method"]).startswith("Curve")
    assert session.make(on) is made
    for answer in (looked, made):
        measured = anon.check(answer.release.table)
        assert answer.privacy.k == measured.k >= 5
    shown = views.answer(looked, session.keys())
    assert "as a fast look: Curve (best) is asked for" in shown
    assert "as a fast look" not in views.answer(made, session.keys())


@pytest.mark.parametrize(
    "form",
    [
        {"publish": "bucketization"},
        {"how": "method=anatomy", "publish": "bucketization", "k": "", "l": "2"},
        {"how": "method=local-suppression", "k_nulls": "wildcard"},
        {"how": "method=microaggregation", "numeric": "mean"},
        {"how": "method=full-domain", "suppress": "0.2"},
        {"how": "method=mondrian", "relaxed": "true", "numeric": "midpoint"},
        {"role.5": "sampling_weight"},
        {"role.0": "unit", "role.5": "neutral"},
        {"hierarchy.2": "intervals:10000,20000", "least.2": "20000", "top.1": "60", "ends.1": "5"},
        {"t": "0.4", "t_distance": "equal", "delta": "2", "delta_absent": "ignore"},
        {"role.4": "", "missing": "suppress"},
        {"role.0": "unit", "role.3": "household", "role.4": ""},
        {"linked.2": "age"},
        {"role.5": "neutral", "perturb.5": "rank-swap p=0.05"},
    ],
    ids=str,
)
def test_every_way_to_make_a_release_is_shown(session: Session, form: dict[str, str]) -> None:
    session.fill({**FORM, **form})
    looked = session.preview(on)
    assert session.speak.job(looked.keys).how() == {"effort": "fast"}
    made = session.make(on)
    shown = views.answer(made, made.keys)
    assert "information loss (gcp)" in shown or form.get("publish")
    assert 'class="verdict' in shown
    for part in (views.losses(made), views.risk(made), views.rows(*session.rows())):
        assert part


def test_warnings_of_the_command_stand_on_the_page(session: Session) -> None:
    session.fill({**FORM, "role.0": "neutral"})
    made = session.preview(on)
    shown = views.answer(made, session.keys())
    [warning] = [each for each in made.release.warnings if "90 %" in each]
    assert "is neutral but more than 90 % of its values are distinct" in shown
    assert "column &#x27;name&#x27;" in shown
    assert made.privacy.known is not None
    assert made.privacy.known.k == 1
    assert "k to who knows the neutral columns too" in shown
    assert "is warned" not in warning


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_exported_job_makes_the_same_release(
    session: Session, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """With the rows in the order of the input byte by byte, otherwise row by row in some order."""
    session.fill({**FORM, "role.5": "neutral", "order": "input", "how": "effort=balanced"})
    session.plant(2, TREE)
    name = f"out.{suffix}"
    done = session.export(name, False, True, on)
    written = {each.name for each in tmp_path.iterdir()}
    assert written == {name, "out.job.toml", "out.zip.csv", "out.report.html"} == {*done["files"].split()}
    first = (tmp_path / name).read_bytes()
    monkeypatch.chdir(tmp_path)
    assert main([*done["command"].split()[1:], "--quiet"]) == 0
    again = (tmp_path / name).read_bytes()
    assert first == again
    if suffix == "csv":
        assert b'"0.50"\n' in first  # as it stood in the file, not 0.5
    session.fill({**session.form, "order": ""})
    session.export(name, True, False, on)
    shuffled = (tmp_path / name).read_bytes()
    assert main([*done["command"].split()[1:], "--quiet"]) == 0

    def rows(content: bytes) -> list[Any]:
        read = pa_csv.read_csv if suffix == "csv" else pa.parquet.read_table
        return sorted(map(str, read(pa.BufferReader(content)).to_pylist()))

    assert rows(shuffled) == rows((tmp_path / name).read_bytes()) == rows(first)


def test_nothing_is_replaced_unless_asked_for(session: Session, tmp_path: Path) -> None:
    (tmp_path / "out.job.toml").write_text("mine")
    with pytest.raises(anon.UsageError, match="there already"):
        session.export("out.parquet", False, False, on)
    assert [each.name for each in tmp_path.iterdir()] == ["out.job.toml"]
    session.export("out.parquet", True, False, on)
    assert (tmp_path / "out.job.toml").read_text() != "mine"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_every_hierarchy_has_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """Also where names differ in a blank alone, or one is what the table of a bucketization is called."""
    names = ["a b", "a-b", "A b", "sensitive", "ill"]
    table = pa.table({name: [f"{name}{i % 4}" for i in range(80)] for name in names})
    pa_csv.write_csv(table, tmp_path / "in.csv")
    source = anon.read_source(str(tmp_path / "in.csv"), engine="local")
    session = Session(str(tmp_path / "in.csv"), source, anon.inspect(source), tmp_path, LANGUAGE, {})
    roles = {f"role.{i}": "quasi" for i in range(4)} | {"role.4": "sensitive"}
    session.fill({**roles, "k": "4", "how": FAST, "publish": "bucketization", "order": "input"})
    for i in range(4):
        session.draft(i)
    done = session.export(f"out.{suffix}", False, False, on)
    files = done["files"].splitlines()
    assert len({each.lower() for each in files}) == len(files) == 7
    assert f"out.sensitive.{suffix}" in files
    trees = tomllib.loads((tmp_path / "out.job.toml").read_text())["hierarchy"]
    for i, name in enumerate(names[:4]):
        assert (tmp_path / trees[name]).read_text() == session.tree_text(i)
    monkeypatch.chdir(tmp_path)
    assert main([*done["command"].split()[1:], "--quiet"]) == 0
    session.close()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_input_that_changed_is_not_exported(people: Path, tmp_path: Path, suffix: str) -> None:
    """What was looked at is then another release, which the job would not make again."""
    copy = tmp_path / "in.csv"
    copy.write_text(people.read_text())
    source = anon.read_source(str(copy), engine="local")
    session = Session(str(copy), source, anon.inspect(source), tmp_path, LANGUAGE, {})
    session.fill(FORM)
    session.preview(on)
    copy.write_text(copy.read_text().replace("ill1", "ill2"))
    with pytest.raises(anon.UsageError, match="changed since it was read"):
        session.export(f"out.{suffix}", False, False, on)
    copy.unlink()
    with pytest.raises(anon.UsageError, match="changed since it was read"):
        session.export(f"out.{suffix}", False, False, on)
    assert list(tmp_path.iterdir()) == []
    session.close()


def test_a_folder_that_changed_is_not_exported(people: Path, tmp_path: Path) -> None:
    """One of its files was written, or another is there."""
    inside, out = tmp_path / "in" / "deep", tmp_path / "out"
    inside.mkdir(parents=True)
    out.mkdir()
    (inside / "a.csv").write_text(people.read_text())
    source = anon.read_source(str(inside.parent), engine="local")
    session = Session(str(inside.parent), source, anon.inspect(source), out, LANGUAGE, {})
    session.fill(FORM)
    (inside.parent / "notes.md").write_text("no table")
    session.export("out.parquet", False, False, on)
    (inside / "b.csv").write_text(people.read_text())
    with pytest.raises(anon.UsageError, match="changed since it was read"):
        session.export("out.parquet", True, False, on)
    (inside / "b.csv").unlink()
    session.export("out.parquet", True, False, on)
    (inside / "a.csv").write_text(people.read_text() + "N,20,10000,m,ill1,1.50\n")
    with pytest.raises(anon.UsageError, match="changed since it was read"):
        session.export("out.parquet", True, False, on)
    session.close()


def test_a_file_of_a_folder_that_is_read_is_not_written_over(people: Path, tmp_path: Path) -> None:
    """Nor by a hierarchy, which stands beside the release."""
    (tmp_path / "out.zip.csv").write_text(people.read_text())
    source = anon.read_source(str(tmp_path), engine="local")
    session = Session(str(tmp_path), source, anon.inspect(source), tmp_path, LANGUAGE, {})
    session.fill(FORM)
    session.draft(2)
    with pytest.raises(anon.UsageError, match="never written over"):
        session.export("out.parquet", True, False, on)
    assert (tmp_path / "out.zip.csv").read_text() == people.read_text()
    session.close()


def test_what_is_asked_for_meanwhile_is_not_exported(session: Session, tmp_path: Path) -> None:
    """The job file holds what the release was made for."""

    def progress(stage: str, done: int, total: int) -> None:
        session.fill({"k": "50", "role.3": "", "role.5": "neutral"})
        session.trees.pop(2, None)

    session.plant(2, TREE)
    session.export("out.parquet", False, False, progress)
    keys = tomllib.loads((tmp_path / "out.job.toml").read_text())
    assert (keys["k"], keys["quasi"], keys.get("neutral")) == (5, ["age", "zip", "sex"], None)
    assert (tmp_path / keys["hierarchy"]["zip"]).read_text() == TREE
    assert "sex" in pa.parquet.read_schema(tmp_path / "out.parquet").names
    assert "visit" not in pa.parquet.read_schema(tmp_path / "out.parquet").names


def test_an_export_is_whole_or_ends_before_it_writes(session: Session, tmp_path: Path) -> None:
    """Also where something else is asked for meanwhile; what was written is told then."""

    def ends(stage: str, done: int, total: int) -> None:
        if stage == "write":
            raise Superseded

    session.plant(2, TREE)
    with pytest.raises(Superseded):
        session.export("out.parquet", False, False, ends)
    assert list(tmp_path.iterdir()) == []
    page, done = Page(session), Event()

    def run(progress: Any) -> str:
        page._preview()
        page._put("last", lambda progress: (done.set(), "")[1])
        return "written"

    page._put("exported", run)
    assert done.wait(10)
    page.worker.stop()
    assert page.channel.latest["exported"]["html"] == "written"


def test_an_answer_to_something_else_is_forgotten(session: Session) -> None:
    session.preview(on)
    session.fill({"k": "many"})
    with pytest.raises(anon.UsageError):
        session.preview(on)
    assert session.answer is None


def test_a_release_that_cannot_be_is_not_written(session: Session, tmp_path: Path) -> None:
    session.fill({**FORM, "k": "500"})
    with pytest.raises(anon.InfeasibleError):
        session.export("out.parquet", False, False, on)
    assert list(tmp_path.iterdir()) == []


def test_what_is_asked_meanwhile_changes_no_export(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.fill(FORM)
    session.preview(on)
    monkeypatch.setattr(session, "_refuse", lambda files, replacing: session.fill({"k": "50"}))
    session.export("release.parquet", False, False, on)
    assert tomllib.loads((session.folder / "release.job.toml").read_text())["k"] == 5
    assert session.answer is not None
    assert session.answer.keys["k"] == 5


def test_an_order_is_no_file(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "order.txt"
    path.write_text("m\nf\n")
    session.fill(FORM | {"kind.3": "ordinal", "ordinal.3": str(path)})
    with pytest.raises(anon.UsageError, match="column 'sex': an order is written low<middle<high"):
        session.keys()
    session.fill({"ordinal.3": "m<f"})
    assert session.keys()["ordinal"] == {"sex": "m<f"}


@pytest.mark.parametrize("text", ["nan", "-nan", "+inf", "-infinity", "9" * 400, "9" * 5000, "many"])
def test_what_is_no_number_is_refused(text: str) -> None:
    [k] = [each for each in REQUIREMENT_OPTIONS if each.key == "k"]
    with pytest.raises(anon.UsageError, match="give a number"):
        k.of_text(text)


def test_a_hierarchy_is_imported_drafted_edited_and_removed(session: Session) -> None:
    with pytest.raises(anon.DataError, match="its hierarchy does not list"):
        session.plant(2, "10000;1****;*\n")
    assert session.trees == {}
    session.plant(2, TREE)
    assert session.keys()["hierarchy"] == {"zip": str(session.trees[2])}
    assert session.form["kind.2"] == "nominal"  # 10000 is a number, until it has labels
    assert session.trees[2].parent.stat().st_mode & 0o077 == 0
    text = session.tree_text(2)
    assert text == TREE
    with pytest.raises(anon.DataError):
        session.plant(2, text.replace("60000;", "61000;"))
    assert session.tree_text(2) == TREE  # what was there stays
    with pytest.raises(anon.DataError) as caught:
        session.plant(2, "10000;1****;*\n20000;*\n")
    said = session.without_paths(str(caught.value))
    assert "(hierarchy of zip), line 2" in said
    assert str(session.trees[2].parent) not in said
    session.draft(2)
    assert session.tree_text(2) != TREE
    kept = session.trees[2].parent
    session.fell(2)
    keys = session.keys()
    assert "hierarchy" not in keys
    session.draft(3)
    session.close()
    assert not kept.exists()


def test_rows_are_shown_beside_what_became_of_them(session: Session) -> None:
    made = session.preview(on)
    before, after = session.rows()
    assert before.num_rows == after.num_rows == 6
    assert before.column_names == ["age", "zip", "sex", "illness"] == after.column_names
    assert before["illness"].to_pylist() == after["illness"].to_pylist()
    for age, cell in zip(before["age"].to_pylist(), after["age"].to_pylist(), strict=True):
        ends = [int(each) for each in str(cell).strip("[]").split(", ")]
        assert ends[0] <= age <= ends[-1]
    assert "As they are published" in views.rows(before, after)
    for draw in (views.losses, views.risk):
        assert "<svg" in draw(made)
    assert "choose it" in views.lattice(made)


def test_a_lattice_and_attacks_are_drawn_where_asked_for(session: Session) -> None:
    session.plant(2, TREE)
    session.fill({**FORM, **session.form, "how": "method=full-domain", "hierarchy.1": "intervals:5,10,50"})
    made = session.make(on)
    assert made.release.lattice is not None
    assert "<svg" in views.lattice(made)
    session.answer = None
    session.fill({**FORM, "k": "20"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "singling out" in views.attacked(session.attacked(on))


def test_the_frontier_is_shown_and_taken(session: Session) -> None:
    session.fill({**FORM, "k": "7", "grid": "k=5,20,500 method=mondrian,curve", "how": "method=tgc"})
    swept = session.sweep(on)
    shown = views.frontier(swept)
    assert shown.count("data-take") == 4  # k = 500 cannot be met
    point = session.take("curve k=20 generalization")
    assert session.keys()["k"] == 20
    assert session.keys()["effort"] == "balanced"
    assert "aria-current=true" in views.frontier(swept, point)
    made = session.make(on)
    assert made.privacy.k >= 20
    on_the_page = views.content(session) + views.answer(made, session.keys()) + shown + views.losses(made)
    names = re.findall(r' id="([^"]+)"', on_the_page)
    assert len({*names}) == len(names) > 10
    with pytest.raises(anon.UsageError, match="no such point"):
        session.take("original")


def test_text_of_the_table_is_text_on_the_page(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    table = pa.table({evil: ["a<b", "c&d"] * 20, "</style>": [evil] * 40, "age": [*range(40)]})
    source = anon.read_source(table)
    session = Session(f"{evil}.csv", source, anon.inspect(source), tmp_path, LANGUAGE, {})
    session.fill(
        {"role.0": "quasi", "role.1": "sensitive", "role.2": "quasi", "k": "4", "grid": f"{evil}'\""}
    )
    made = session.preview(on)
    shown = [views.content(session), views.answer(made, session.keys()), views.fault(evil)]
    shown += [views.rows(*session.rows()), views.losses(made), views.column_row(session, 0, evil)]
    assert all("<script" not in each and "</style" not in each for each in shown)
    session.close()


def test_work_that_is_superseded_ends_and_what_waited_can_say_so() -> None:
    worker, told = Worker(), []
    begun, go, done = Event(), Event(), Event()

    def first(progress: Any) -> None:
        begun.set()
        go.wait(10)
        progress("encode", 0, 1)
        told.append("first")

    def waits(progress: Any) -> None:
        try:
            progress("start", 0, 1)
        except Superseded:
            told.append("ended")
            raise
        told.append("waited")

    worker.put(first)
    assert begun.wait(10)
    worker.put(waits)
    worker.put(lambda progress: (progress("encode", 0, 1), told.append("last"), done.set()), supersedes=True)
    go.set()
    assert done.wait(10)
    worker.stop()
    assert told == ["ended", "last"]
    assert not worker.thread.is_alive()


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_one_sentence_says_how_to_get_it(
    people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["explore", str(people)]) == 2
    assert capsys.readouterr().err == "error: the page needs a web library: pip install 'anon[app]'\n"


def test_the_folder_must_be_there(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(people), "--folder", str(people.parent / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err
