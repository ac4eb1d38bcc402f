# SPDX-License-Identifier: Apache-2.0
"""Laplace noise: its size, its accounting, what it refuses, and what a release says of it.

The noise is OpenDP's and cannot be seeded, so that tests of its size state how often they fail by chance.
"""

from __future__ import annotations

import json
import math
import re
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
import anon.measures.answers
import anon.measures.workload
from anon.command.entry import main
from anon.errors import DataError, RecheckError, UsageError
from anon.methods.laplace import words
from anon.release.metadata import read_metadata
from anon.release.recheck_noise import recheck_noise

pytestmark = [pytest.mark.opendp, pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")]

AGE = {"age": (17, 99)}
SCHEMA = anon.Schema(["age", "sex"], ["disease"])


def people(n: int = 200, age: Any = None) -> pa.Table:
    ages = np.arange(n) % 83 + 17 if age is None else age
    return pa.table(
        {
            "age": ages,
            "sex": ["Female", "Male"] * (n // 2),
            "disease": ["flu", "asthma", "flu", "ulcer"] * (n // 4),
        }
    )


def released(method: anon.Laplace, table: Any = None, **options: Any) -> anon.Release:
    return anon.anonymize(people() if table is None else table, SCHEMA, method=method, **options)


def noise_of(release: anon.Release) -> dict[str, Any]:
    assert release.noise is not None
    return release.noise["attributes"]["age"]


# --- size


def test_the_noise_has_the_density_of_laplace_and_its_scale() -> None:
    """One draw of 200,000 of scale 82/0.5 = 164.

    |noise|/164 is exponential, so the sum of n is within (1 +- 0.02) n but for a share of
    2 exp(-n (0.02 - ln 1.02)) < 1e-17 (Chernoff). By Dvoretzky, Kiefer, Wolfowitz and Massart the
    distribution function differs by more than 0.0075 with probability below
    2 exp(-2 n 0.0075^2) = 3.4e-10.
    """
    n = 200_000
    table = people(n)
    release = released(anon.Laplace(0.5, AGE), table, order="input")
    noise = release.table["age"].to_numpy() - table["age"].to_numpy()
    assert abs(np.abs(noise).mean() / 164 - 1) < 0.02
    ascending = np.sort(noise) / 164
    expected = np.where(ascending < 0, np.exp(ascending) / 2, 1 - np.exp(-np.abs(ascending)) / 2)
    steps = np.arange(n + 1) / n
    assert max(np.abs(expected - steps[1:]).max(), np.abs(expected - steps[:-1]).max()) < 0.0075


def test_every_value_gets_noise_of_its_own() -> None:
    # 200 draws from a grid of 2**30 steps of the scale: fewer than 151 values never happens by chance
    shown = released(anon.Laplace(1.0, AGE), people(age=np.full(200, 40))).table["age"].to_pylist()
    assert len(set(shown)) > 150


def test_values_lie_on_a_grid_that_does_not_depend_on_the_data() -> None:
    # sensitivity 82, scale 82: steps of 2**(7 - 30)
    shown = released(anon.Laplace(1.0, AGE), people(age=np.linspace(17, 99, 200))).table["age"].to_numpy()
    steps = (shown - 17) * 2.0**23
    assert (steps == np.rint(steps)).all()


def test_the_scale_is_the_sensitivity_over_epsilon() -> None:
    assert noise_of(released(anon.Laplace(0.1, AGE)))["scale"] == 820.0
    assert noise_of(released(anon.Laplace(0.1, AGE, sensitivity=100)))["scale"] == 1000.0
    assert noise_of(released(anon.Laplace(Fraction(1, 3), AGE)))["scale"] == 246.0


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 1 / 3, 1, 7.5, 1000])
def test_opendp_itself_accounts_for_no_more_than_epsilon(epsilon: float) -> None:
    from anon.methods import laplace
    from anon.methods.laplace import _noise, _opendp, measurement

    method = anon.Laplace(epsilon, {"age": (17, 98.3)})
    noise = _noise("age", pa.array([20.0]), method)
    steps = math.ceil(Fraction(noise.sensitivity) / Fraction(noise.grid))
    spent = measurement(_opendp(), noise).map(steps)
    assert Fraction(spent) <= laplace.exact(epsilon)
    assert spent == pytest.approx(epsilon, rel=1e-12)


# --- clipping, clamping, rounding


def test_clipping_is_what_makes_the_guarantee() -> None:
    far = np.full(200, 1_000_000.0)
    # scale 0.82, clipped to 99: beyond 99 + 82 with probability 200 exp(-100)
    clipped = released(anon.Laplace(100, AGE), people(age=far))
    assert np.abs(clipped.table["age"].to_numpy() - 99).max() < 82
    kept = released(anon.Laplace(100, AGE, clip=False), people(age=far))
    assert np.abs(kept.table["age"].to_numpy() - 1_000_000).max() < 82
    assert clipped.metadata["noise"]["guarantee"].startswith("100-differential privacy of the values of age")
    assert kept.metadata["noise"]["guarantee"].startswith("not a differential-privacy guarantee")
    assert any("200 values lie outside" in warning for warning in clipped.warnings)
    assert "200 values" not in json.dumps(clipped.metadata)


def test_clamping_puts_published_values_into_the_bounds() -> None:
    shown = released(anon.Laplace(0.01, AGE, clamp=True)).table["age"].to_numpy()
    assert shown.min() == 17
    assert shown.max() == 99


def test_rounding_gives_whole_numbers_to_integers() -> None:
    release = released(anon.Laplace(0.5, AGE, rounding=0))
    assert release.table.schema.field("age").type == pa.int64()
    release = released(anon.Laplace(0.5, AGE, rounding=-1))
    assert set(release.table["age"].to_numpy() % 10) == {0}
    shown = released(anon.Laplace(0.5, AGE, rounding=1)).table["age"].to_numpy()
    assert np.array_equal(np.round(shown, 1), shown)
    assert released(anon.Laplace(0.5, AGE)).table.schema.field("age").type == pa.float64()


def test_missing_values_stay_missing_and_can_be_suppressed() -> None:
    ages = [None if i % 10 == 0 else 40.0 if i % 10 else math.nan for i in range(200)]
    release = released(anon.Laplace(0.5, AGE), people(age=ages), order="input")
    assert [i for i, age in enumerate(release.table["age"].to_pylist()) if age is None] == [
        *range(0, 200, 10)
    ]
    assert released(anon.Laplace(0.5, AGE), people(age=ages), missing="suppress").n_rows == 180


@pytest.mark.parametrize(
    "ages",
    [
        pa.array([20] * 200, pa.uint8()),
        pa.array(np.full(200, 20.5)),
        pa.array(["20.25"] * 200).cast(pa.decimal128(5, 2)),
        pa.array([20] * 200, pa.int32()).dictionary_encode(),
    ],
    ids=["uint8", "float64", "decimal", "dictionary"],
)
def test_any_type_of_number_takes_noise(ages: pa.Array) -> None:
    shown = released(anon.Laplace(1e6, AGE), people(age=ages)).table["age"].to_numpy()
    assert np.abs(shown - float(ages[0].as_py())).max() < 0.1  # scale 8.2e-5: 200 exp(-1219)


# --- accounting


def test_epsilons_of_attributes_add_up_exactly() -> None:
    table = people().append_column("hours", pa.array(np.arange(200) % 40))
    schema = anon.Schema(["age", "sex"], ["disease"], neutral=["hours"])
    method = anon.Laplace({"age": 0.1, "hours": 0.2}, AGE | {"hours": (0, 40)})
    with pytest.raises(anon.UsageError, match="'hours' has no role and is not published: it takes no noise"):
        anon.anonymize(table, anon.Schema(["age", "sex"], ["disease"]), method=method)
    told = anon.anonymize(table, schema, method=method).metadata["noise"]
    assert told["epsilon"] == "0.3"  # in floats 0.1 + 0.2 is 0.30000000000000004
    assert [each["epsilon"] for each in told["attributes"].values()] == ["0.1", "0.2"]
    assert "sequential" in told["composition"]
    told = anon.anonymize(table, schema, method=anon.Laplace(0.1, AGE | {"hours": (0, 40)})).metadata["noise"]
    assert told["epsilon"] == "0.2"


def test_several_releases_draw_on_one_budget_exactly() -> None:
    budget = anon.Budget(0.3)
    for spent in (1, 2, 3):
        release = released(anon.Laplace(0.1, AGE, budget=budget))
        assert budget.spent == Fraction(spent, 10)
        assert release.metadata["noise"]["budget"] == {"epsilon": "0.3", "spent": f"0.{spent}"}
    assert budget.left == 0
    with pytest.raises(UsageError, match=r"epsilon = 0\.3 has 0 left, and this release would spend 0\.1"):
        released(anon.Laplace(0.1, AGE, budget=budget))
    assert repr(budget) == "Budget(0.3, spent=0.3)"


def test_a_refused_release_spends_nothing() -> None:
    budget = anon.Budget(1)
    with pytest.raises(UsageError, match="does not have"):
        released(anon.Laplace(0.1, AGE | {"height": (0, 1)}, budget=budget))
    far = people().set_column(0, "age", pa.array([1e30] * len(people())))
    with pytest.raises(UsageError, match="too far outside"):
        released(anon.Laplace(0.1, AGE, clip=False, budget=budget), far)
    assert budget.spent == 0


@pytest.mark.parametrize(
    ("epsilon", "written"),
    [
        ("0.1", "0.1"),
        ("1", "1"),
        ("1/3", "1/3"),
        ("1e-5", "0.00001"),
        ("100", "100"),
        ("5/8", "0.625"),
        (f"1/{2**60}", "0.000000000000000000867361737988403547205962240695953369140625"),
    ],
)
def test_a_fraction_is_written_so_that_it_can_be_added(epsilon: str, written: str) -> None:
    assert words(Fraction(epsilon)) == written
    assert Fraction(written) == Fraction(epsilon)


# --- what a release says, and what it refuses


def test_classes_are_rows_with_equal_published_cells() -> None:
    release = released(anon.Laplace(0.5, AGE, rounding=-3, clamp=True))
    # rounded to thousands, then clamped to 17..99: every age is one of the two ends
    assert release.classes.n_classes <= 4
    assert release.privacy().k == int(release.classes.sizes.min())
    assert release.privacy().a_know == pytest.approx(anon.check(release.table).a_know)


def test_every_measure_that_needs_cells_refuses() -> None:
    release = released(anon.Laplace(0.5, AGE))
    utility = release.utility()
    assert utility.dm == int((release.classes.sizes**2).sum())
    for name in ("gcp", "um", "ordered_loss", "entropy", "precision", "u_loss", "kl", "avg_wtd"):
        with pytest.raises(UsageError, match="needs cells"):
            getattr(utility, name)
    queries = anon.measures.workload.random_queries(release.encoded, 1, 0.1, n=5)
    with pytest.raises(UsageError, match="needs cells"):
        anon.measures.answers.answer(queries, release)
    with pytest.raises(UsageError, match="needs cells"):
        release.privacy(population=people())
    compared = anon.compare(people(), release.table)
    with pytest.raises(UsageError, match="'age' perturbed"):
        _ = compared.gcp
    assert release.privacy(sampling_fraction=0.5).population is not None


def test_a_file_says_what_was_done(tmp_path: Path) -> None:
    for suffix in ("parquet", "feather", "csv"):
        released(anon.Laplace(0.5, AGE)).write(tmp_path / f"out.{suffix}")
    told = read_metadata(tmp_path / "out.parquet")
    assert told is not None
    assert told["publish"] == "perturbation"
    assert told["noise"]["attributes"]["age"] == {
        "epsilon": "0.5",
        "bounds": [17.0, 99.0],
        "bounds_from": "given",
        "sensitivity": 82.0,
        "scale": 164.0,
        "clipped": True,
        "clamped": False,
        "rounding": None,
    }
    assert told["noise"]["reproducible"] is False
    assert told["cells"]["age"]["meaning"] == "number: the value with Laplace noise added"
    assert told["cells"]["sex"]["meaning"] == "the original value"
    assert anon.check(tmp_path / "out.parquet").n_rows == 200


def test_a_parquet_column_of_integers_is_written_as_floats(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(people(), tmp_path / "in.parquet")
    released(anon.Laplace(0.5, AGE), tmp_path / "in.parquet").write(tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").field("age").type == pa.float64()


def test_bounds_off_the_data_are_refused_unless_said_and_then_told() -> None:
    with pytest.raises(UsageError, match="public bounds"):
        anon.Laplace(0.5)
    release = released(anon.Laplace(0.5, "data"))
    assert noise_of(release)["bounds"] == [17, 99]
    assert noise_of(release)["bounds_from"] == "data"
    # these are two people's ages: everybody is told the width, rounded up, and no more
    release = released(anon.Laplace(0.3, "data"))
    public = release.metadata["noise"]["attributes"]["age"]
    assert (public["bounds_from"], public["bounds"]) == ("data", None)
    assert (public["sensitivity"], public["scale"]) == (82, 280)
    assert noise_of(release)["scale"] == pytest.approx(82 / 0.3)
    assert "the bounds were read off the table" in release.metadata["noise"]["guarantee"]
    assert any("read off the table" in warning for warning in release.warnings)


def test_a_sensitivity_below_the_width_of_the_bounds_guarantees_nothing() -> None:
    told = released(anon.Laplace(0.5, AGE, sensitivity=1)).metadata["noise"]["guarantee"]
    assert told.startswith("not a differential-privacy guarantee: the sensitivity given for age")


@pytest.mark.parametrize("bounds", [AGE, AGE | {"born": (0, 1)}, "data"])
def test_that_dates_take_no_noise_is_said_before_bounds_are_asked_for(bounds: Any) -> None:
    dates = pa.array([date(1980, 1, 1 + i % 28) for i in range(len(people()))])
    table = people().append_column("born", dates)
    schema = anon.Schema(quasi=["age", "born"], sensitive=["disease"])
    for epsilon in (1, {"age": 1}) if bounds is AGE else (1,):
        with pytest.raises(UsageError, match=r"'born' holds date32.*: noise is added to numbers alone;"):
            anon.anonymize(table, schema, method=anon.Laplace(epsilon, bounds))
    with pytest.raises(UsageError, match=r"must be two numbers.*: noise is for numbers"):
        anon.Laplace(1, {"born": (date(1980, 1, 1), date(1990, 1, 1))})
    unchanged = anon.Schema(quasi=["age", anon.nominal("born")], sensitive=["disease"])
    assert anon.anonymize(table, unchanged, method=anon.Laplace(1, AGE)).table["born"].type == pa.date32()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0, "bounds": AGE}, "epsilon must be a finite number above 0"),
        ({"epsilon": math.inf, "bounds": AGE}, "epsilon must be a finite"),
        ({"epsilon": True, "bounds": AGE}, "epsilon must be a number"),
        ({"epsilon": {"age": -1}, "bounds": AGE}, "epsilon of column 'age'"),
        ({"epsilon": {"old": 1}, "bounds": AGE}, "'old', which has no bounds"),
        ({"epsilon": {"age": 1}, "bounds": AGE | {"hours": (0, 1)}}, "'hours' has bounds and no epsilon"),
        ({"epsilon": 1, "bounds": {}}, "bounds must map"),
        ({"epsilon": 1, "bounds": "table"}, 'or be "data"'),
        ({"epsilon": 1, "bounds": {"age": (99, 17)}}, "the lower below the upper"),
        ({"epsilon": 1, "bounds": {"age": (0, math.inf)}}, "must be finite"),
        ({"epsilon": 1, "bounds": {"age": 3}}, "two numbers"),
        ({"epsilon": 1, "bounds": AGE, "sensitivity": 0}, "sensitivity must be"),
        ({"epsilon": 1, "bounds": AGE, "rounding": 0.5}, "whole number of decimals"),
        ({"epsilon": 1, "bounds": AGE, "clip": "no"}, "clip must be True or False"),
        ({"epsilon": 1, "bounds": AGE, "budget": 1.0}, "budget must be an anon.Budget"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        anon.Laplace(**arguments)


def test_a_numeric_quasi_identifier_without_bounds_is_refused() -> None:
    table = people().append_column("hours", pa.array(np.arange(200) % 40))
    schema = anon.Schema(["age", "hours"], ["disease"])
    with pytest.raises(UsageError, match="'hours' has no bounds"):
        anon.anonymize(table, schema, method=anon.Laplace(1, AGE))
    intact = anon.Schema(["age", anon.nominal("hours")], ["disease"])
    assert anon.anonymize(table, intact, method=anon.Laplace(1, AGE)).noise is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [("sex", "'sex' is nominal|'sex' holds string"), ("height", "which the table does not have")],
)
def test_bounds_of_what_is_no_number_are_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        released(anon.Laplace(1, AGE | {name: (0, 1)}))


def test_an_infinite_value_is_refused_without_being_shown() -> None:
    ages = np.full(200, 40.0)
    ages[7] = math.inf
    with pytest.raises(DataError, match="'age' is infinite in 1 rows, the first of them row 8"):
        released(anon.Laplace(1, AGE), people(age=ages))


def test_requirements_and_renderings_are_refused() -> None:
    with pytest.raises(UsageError, match="Laplace enforces nothing"):
        released(anon.Laplace(1, AGE), require=[anon.KAnonymity(2)])
    for option in ({"publish": "bucketization"}, {"numeric": "mean"}):
        with pytest.raises(UsageError, match="leave publish and numeric out"):
            released(anon.Laplace(1, AGE), **option)


def test_without_opendp_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(UsageError, match=r"anon\[eval\]"):
        released(anon.Laplace(1, AGE))


# --- the check of its own


TOLD = {
    "kind": "laplace",
    "attributes": {
        "age": {"bounds": [17, 99], "scale": 164.0, "clipped": True, "clamped": False, "rounding": None}
    },
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, noise: t.set_column(0, "age", pa.array(t["age"].to_numpy() * 1.0)), "not what it claims"),
        (lambda t, noise: t.set_column(0, "age", pa.array(t["age"].to_numpy() + noise / 4)), "not what"),
        (lambda t, noise: t.set_column(0, "age", pa.array(t["age"].to_numpy() + noise * 4)), "not what"),
        (lambda t, noise: t.set_column(0, "age", pa.array([None, *noise[1:]])), "other values are missing"),
        (lambda t, noise: t.set_column(0, "age", pa.array([math.inf, *noise[1:]])), "not what it claims"),
        (lambda t, noise: t.set_column(1, "sex", pa.array(["Male"] * 200)), "'sex': values changed"),
        (lambda t, noise: t.slice(1), "other rows"),
    ],
)
def test_a_table_that_is_not_what_it_claims_is_refused(change: Any, message: str) -> None:
    noise = np.random.default_rng(0).laplace(0, 164, 200)
    table = people()
    fine = table.set_column(0, "age", pa.array(table["age"].to_numpy() + noise))
    recheck_noise(table, fine, TOLD)
    with pytest.raises(RecheckError, match=message):
        recheck_noise(table, change(table if "sex" not in message else fine, noise), TOLD)


# --- the command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    anon.datasets.write_table(people(), path)
    return path


ROLES = ["--quasi", "age,sex", "--sensitive", "disease"]


def test_the_command_adds_noise(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.with_name("out.parquet")
    words = ["anonymize", str(file), "-o", str(out), *ROLES, "--method", "laplace", "--json"]
    assert main([*words, "--epsilon", "0.1", "--bounds", "age=17..99", "--rounding", "0", "--clamp"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["release"]["epsilon"] == "0.1"
    told = read_metadata(out)
    assert told is not None
    assert told["noise"]["attributes"]["age"]["clamped"] is True
    assert main([*words, "--epsilon", "age=0.2", "--bounds", "data", "--no-clip"]) == 0
    assert "not a differential-privacy" in json.loads(capsys.readouterr().out)["release"]["guarantee"]


def test_a_job_file_adds_noise(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = file.with_name("job.toml")
    job.write_text(
        'input = "people.parquet"\noutput = "out.parquet"\nquasi = ["age", "sex"]\nsensitive = ["disease"]\n'
        'method = "laplace"\nepsilon = {age = 0.1}\nbounds = {age = [17, 99]}\nclamp = true\n'
    )
    assert main(["anonymize", "--config", str(job), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["release"]["epsilon"] == "0.1"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--epsilon", "0.1"], "--bounds age=17..99"),
        (["--bounds", "age=17..99"], "needs --epsilon"),
        (["--epsilon", "0.1", "--bounds", "age=17"], "COLUMN=LOWER..UPPER"),
        (["--epsilon", "0.1", "--bounds", "age=a..b"], "COLUMN=LOWER..UPPER"),
        (["--epsilon", "much", "--bounds", "age=17..99"], "--epsilon takes a number"),
        (["--epsilon", "0.1", "--bounds", "age=17..99", "--k", "2"], "Laplace enforces nothing"),
        (["--epsilon", "0.1", "--bounds", "age=17..99", "--publish", "bucketization"], "leave publish"),
    ],
)
def test_the_command_refuses_in_its_own_words(
    file: Path, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.with_name("out.parquet")
    assert main(["anonymize", str(file), "-o", str(out), *ROLES, "--method", "laplace", *flags]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_epsilon_is_a_setting_of_laplace_alone(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["anonymize", str(file), "-o", str(file.with_name("out.parquet")), *ROLES, "--k", "2"]
    assert main([*words, "--epsilon", "0.1"]) == 2
    assert "--epsilon is a setting of --method laplace" in capsys.readouterr().err


def test_the_command_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()
    [command] = re.findall(r"`(anon anonymize .*)` is the same", page)
    (tmp_path / "people.csv").write_text("age,city\n23,Bonn\n35,Rome\n")
    monkeypatch.chdir(tmp_path)
    assert main(command.split()[1:]) == 0


def test_a_table_that_stays_in_its_files_gets_noise_in_memory(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [20, 30, 40], "city": list("xyz")}), tmp_path / "in.parquet")
    source = anon.read_source(tmp_path / "in.parquet", engine="stream")
    release = anon.anonymize(
        source, anon.Schema(["age", "city"]), method=anon.Laplace(1.0, bounds={"age": (0, 99)})
    )
    assert sorted(release.table["city"].to_pylist()) == list("xyz")


def test_not_a_number_inside_a_neutral_column_is_no_change() -> None:
    table = pa.table({"age": [20, 30], "path": pa.array([[1.0, float("nan")], None], pa.list_(pa.float64()))})
    release = anon.anonymize(table, anon.Schema(["age"]), method=anon.Laplace(1.0, bounds={"age": (0, 99)}))
    assert release.n_rows == 2
