# SPDX-License-Identifier: Apache-2.0
"""Job files: what they say, what flags override, and how their slips are named."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import anon
from anon.command.entry import main
from anon.command.job import Job, load_job
from anon.errors import UsageError


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "job.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


EVERYTHING = """
input = "people.csv"
output = "/elsewhere/release.parquet"
release_table = "public.people"
report = "owner.html"
report_public = "/elsewhere/public.html"
title = "Wages"
purpose = "Research"
recipient = "A university"
responsible = "A. Nobody"
report_date = "2026-11-29"
null = ["?", "n/a"]
delimiter = ";"
encoding = "latin-1"
decimal = ","
thousands = "."
trim = true
header = false
date = { seen = "%d.%m.%Y" }
sheet = "People"
table = "people"
engine = "stream"
memory = "4G"
spill = "scratch"
quasi = ["age", "zip", "education", "country", "seen"]
sensitive = ["disease"]
identifying = ["name, full"]
neutral = ["town", "*"]
linked = [["age", "born"]]
unit = "household"
household = ["zip"]
sampling_weight = "factor"
k = 10
k_count = "units"
k_nulls = "own"
l = 3
l_kind = "recursive"
c = 2.5
t = 0.2
t_distance = "hierarchical"
delta = 1.5
delta_absent = "ignore"
alpha = 0.5
beta = 2
enhanced = true
s_bound = 0.4
r = 0.5
k_map = 20
k_map_fraction = 0.2
k_map_significance = 0.01
max_risk = 0.05
max_risk_fraction = 0.1
presence = 0.5
presence_low = 0.1
population_uniqueness = 0.01
uniqueness_fraction = 0.1
uniqueness_model = "zayatz"
method = "mondrian"
effort = "best"
split = ["zip", "age"]
cuts = "median"
relaxed = true
target = "disease"
objective = "utility"
loss = "ncp"
ties = "rank"
groups = "mdav"
w_u = 0.5
w_p = 0.5
s = 50
variant = "printed"
levels = [1, 0, 1, 1, 0]
quality = "dm"
domain = "file"
reference = "table"
iterate = 0.01
suppress = 0.05
time_limit = 60.0
epsilon = 0.5
bounds = "data"
sensitivity = 3
rounding = 1
clip = false
clamp = true
amount = 0.1
noise = "correlated"
p = 0.05
pd = 0.8
invariant = true
pram_alpha = 0.5
strata = "region"
importance = ["age", "zip"]
subsets = {2 = 5}
by = ["age"]
columns = ["age"]
geography = ["town"]
risk = ["age"]
similar = ["zip"]
swap_k = 3
rate = 0.1
grid = ["k=10,20", "t=0.1"]
privacy = "k"
utility = "gcp"
measures = ["dm"]
min_support = 0.1
queries = ["age >= 30"]
choose = "min_k=15"
cache = "kept"
publish = "generalization"
numeric = "level"
missing = "suppress"
order = "input"
weights = "keep"
csv_guard = true
control = 0.1
attack = true
on_infeasible = "trivial"
seed = 7
threads = 2
population = "people.parquet"
sampling_fraction = 0.1

[kind]
zip = "nominal"

[hierarchy]
age = "intervals:5,10.5"
zip = { prefix = [4, 2] }
country = "countries.csv"
seen = "dates:month,year"
disease = { tree = { "*" = { Lung = ["Flu", "Cold"], Other = "Other" } } }

[ordinal]
education = ["low", "high"]

[weight]
age = 2.0

[least]
age = 5

[top]
age = 90

[bottom]
age = 18

[ends]
born = "2 digits"

[[perturb]]
method = "noise"
amount = 1
columns = ["income"]

[[perturb]]
method = "record-swap"
geography = ["region", "town"]
risk = ["age"]
swap_k = 4
"""


def test_a_job_file_says_everything_the_flags_can_say(tmp_path: Path) -> None:
    job = load_job(written(tmp_path, EVERYTHING), {})
    assert set(Job.model_fields) == job.model_fields_set
    assert (job.title, job.responsible) == ("Wages", "A. Nobody")
    assert (job.purpose, job.recipient, job.report_date) == ("Research", "A university", "2026-11-29")
    assert (job.report, job.report_public) == (str(tmp_path / "owner.html"), "/elsewhere/public.html")
    assert job.read_options() == {
        **{"null": ["?", "n/a"], "delimiter": ";", "encoding": "latin-1"},
        **{
            "decimal": ",",
            "thousands": ".",
            "trim": True,
            "header": False,
            "sheet": "People",
            "table": "people",
            "date": {"seen": "%d.%m.%Y"},
        },
        **{"engine": "stream", "memory": "4G", "spill": str(tmp_path / "scratch")},
    }
    assert job.bound() == {"min_k": 15.0}
    assert job.cache == str(tmp_path / "kept")
    assert job.write_options() == {"csv_guard": True, "table": "public.people"}
    assert job.beside() == {
        "perturb": [
            anon.Noise(1, columns=["income"]),
            anon.RecordSwap(["region", "town"], ["age"], k=4),
        ]
    }
    assert job.options() == {
        **{"publish": "generalization", "numeric": "level", "missing": "suppress", "order": "input"},
        **{"on_infeasible": "trivial", "seed": 7, "n_threads": 2, "weights": "keep"},
        **{"suppress": 0.05, "time_limit": 60.0, "control": 0.1},
    }
    assert load_job(None, {"attack": True}).options() == {"control": 0.2}
    assert job.requirements(job.population) == [
        anon.KAnonymity(10, count="units"),
        anon.LDiversity(3, "recursive", 2.5),
        anon.TCloseness(0.2, "hierarchical"),
        anon.DeltaDisclosure(1.5, absent="ignore"),
        anon.AlphaK(0.5, 10, count="units"),
        anon.BetaLikeness(2, enhanced=True),
        anon.SDiversityBound(0.4, r=0.5),
        anon.KMap(20, 0.2, significance=0.01),
        anon.MaxRisk(0.05, 0.1),
        anon.DeltaPresence(0.1, 0.5, str(tmp_path / "people.parquet")),
        anon.PopulationUniqueness(0.01, 0.1, model="zayatz"),
    ]
    with pytest.raises(UsageError, match="--objective is a setting of --method kmembers"):
        job.configured_method()
    schema = job.roles()
    assert schema is not None
    assert schema.to_dict() == {
        "quasi": [
            {
                **{"name": "age", "hierarchy": {"intervals": [5, 10.5]}, "weight": 2.0},
                **{"least": 5, "top": 90, "bottom": 18},
            },
            {"name": "zip", "kind": "nominal", "hierarchy": {"prefix": [4, 2]}},
            {"name": "education", "kind": "ordinal", "order": ["low", "high"]},
            {"name": "country", "hierarchy": str(tmp_path / "countries.csv")},
            {"name": "seen", "hierarchy": {"dates": ["month", "year"]}},
            {"name": "born", "ends": "2 digits"},
        ],
        "sensitive": [
            {"name": "disease", "hierarchy": {"tree": {"*": {"Lung": ["Flu", "Cold"], "Other": "Other"}}}}
        ],
        "identifying": ["name, full"],
        "neutral": ["town", "*"],
        "linked": [["age", "born"]],
        **{"unit": "household", "household": ["zip"], "sampling_weight": "factor"},
    }


def test_relative_paths_start_at_the_job_files_folder(tmp_path: Path) -> None:
    job = load_job(written(tmp_path, EVERYTHING), {})
    assert job.input == str(tmp_path / "people.csv")
    assert job.output == "/elsewhere/release.parquet"


def test_uris_are_no_relative_paths(tmp_path: Path) -> None:
    job = load_job(
        written(tmp_path, 'input = "hdfs://nn:8020/data/people"\noutput = "s3a://bucket/release"\n'), {}
    )
    assert (job.input, job.output) == ("hdfs://nn:8020/data/people", "s3a://bucket/release")


def test_flags_override_the_file(tmp_path: Path) -> None:
    job = load_job(written(tmp_path, EVERYTHING), {"k": 5, "quasi": ["age"], "input": "here.csv"})
    assert (job.k, job.quasi, job.input, job.l) == (5, ["age"], "here.csv", 3)


def test_an_order_can_be_a_line_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "order.txt").write_text("low\nvery low, not high\n\nhigh\n", encoding="utf-8")
    text = 'quasi = ["a", "b"]\n[ordinal]\na = "low < mid<high"\nb = "order.txt"'
    schema = load_job(written(tmp_path, text), {}).roles()
    assert schema is not None
    assert schema.quasi[0].order == ("low", "mid", "high")
    assert schema.quasi[1].order == ("low", "very low, not high", "high")
    with pytest.raises(UsageError, match="order of column 'a'"):
        Job(quasi=["a"], ordinal={"a": str(tmp_path / "none.txt")}).roles()


def test_no_order_from_what_may_never_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = load_job(written(tmp_path, 'quasi = ["a"]\n[ordinal]\na = "/dev/zero"'), {})
    read: list[Path] = []
    monkeypatch.setattr(Path, "read_text", lambda path, **options: read.append(path) or "")
    with pytest.raises(UsageError, match="order of column 'a'"):
        job.roles()
    assert not read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = '10'", r"job\.toml: k: input should be a valid integer"),
        ("k = 10\nhue = 'red'", r"job\.toml: hue: no such key; the keys are input"),
        ("quais = ['age']", r"job\.toml: quais: no such key; did you mean 'quasi'.*\? the keys are input"),
        ("k = 2\non-infeasible = 'error'", r"no such key; did you mean 'on_infeasible'\?"),
        ("cuts = 'middle'", r"job\.toml: cuts: input should be 'nearest', 'median' or 'medians'"),
        ("[kind]\nzip = 'text'", r"job\.toml: kind\.zip: input should be 'numeric'"),
        ("quasi = 'age'", r"job\.toml: quasi: input should be a valid array"),
        ("quasi = ['age', 5]", r"job\.toml: quasi\.1: input should be a valid string"),
        ("k = ", r"job\.toml is not a TOML file: .*end of document"),
        ("relaxed = 1", r"job\.toml: relaxed: input should be a valid boolean"),
        ("[[perturb]]\nmethod = 'curve'", r"job\.toml: perturb\.0\.method: input should be 'noise', 'rank"),
        ("[[perturb]]\nmethod = 'pram'\ncolunms = ['a']", r"no such key; did you mean 'columns'\?"),
    ],
)
def test_slips_are_named_with_their_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_job(written(tmp_path, text), {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory = 1.5", "memory: input should be a valid integer or a valid string"),
        ("hierarchy = 'zip.csv'", "hierarchy: input should be a valid table"),
        ("[hierarchy]\nzip = 5", "hierarchy.zip: input should be a valid string or a valid table"),
        ("epsilon = 'x'", "epsilon: input should be a valid number or a valid table"),
        ("[epsilon]\nage = 'x'", "epsilon.age: input should be a valid number"),
        ("[bounds]\nage = [1]", "bounds.age: array should have at least 2 items, not 1"),
        ("[bounds]\nage = [1, 'x']", "bounds.age.1: input should be a valid number"),
    ],
)
def test_a_key_has_one_fault_in_words_of_toml(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as slip:
        load_job(path, {})
    assert str(slip.value) == f"{path}: {message}"


def test_every_slip_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"k: .*; .*t: "):
        load_job(written(tmp_path, "k = 'a'\nt = 'b'"), {})


def test_a_slip_in_a_flag_is_named_as_the_flag(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--l-kind: input should be"):
        load_job(written(tmp_path, "k = 10"), {"l_kind": "some"})


def test_a_slip_does_not_show_what_was_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as slip:
        load_job(written(tmp_path, "k = 'Mary Smith'"), {})
    assert "Mary" not in str(slip.value)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_bytes(b"k = '\xff\xfe'")
    with pytest.raises(UsageError, match="is not a TOML file"):
        load_job(str(tmp_path / "job.toml"), {})


def test_nothing_in_a_job_file_is_evaluated(tmp_path: Path) -> None:
    text = "quasi = ['''__import__('os').system('true')''']\nk = 2"
    schema = load_job(written(tmp_path, text), {}).roles()
    assert schema is not None
    assert schema.quasi[0].name == "__import__('os').system('true')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method = 'noise'\ncolumns = ['a']", "perturb.0: method = 'noise' needs the key amount"),
        ("method = 'pram'\np = 0.1", "perturb.0: p is no key of method = 'pram'"),
    ],
)
def test_a_perturbation_has_the_keys_of_its_method(tmp_path: Path, text: str, message: str) -> None:
    job = load_job(written(tmp_path, f"[[perturb]]\n{text}"), {})
    with pytest.raises(UsageError, match=message):
        job.beside()


def test_a_sweep_perturbs_nothing(tmp_path: Path) -> None:
    text = "grid = ['k=10']\n[[perturb]]\nmethod = 'pram'\ncolumns = ['a']"
    with pytest.raises(UsageError, match="leave it out of the job file of a sweep"):
        load_job(written(tmp_path, text), {}).sweep()


def test_no_roles_and_no_requirements() -> None:
    assert Job().roles() is None
    assert Job().requirements() == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 2, "l_kind": "distinct"}, "--l-kind needs --l"),
        ({"k": 2, "t_distance": "js"}, "--t-distance needs --t"),
        ({"k": 2, "enhanced": True}, "--enhanced needs --beta"),
        ({"k": 2, "r": 0.5}, "--r needs --s-bound"),
        ({"alpha": 0.5}, "--alpha needs --k"),
        ({"l": 2.0, "c": 3.0}, "--c is a setting of --l-kind recursive"),
    ],
)
def test_a_setting_of_nothing_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Job(**settings).requirements()


@pytest.mark.parametrize(
    ("settings", "engine"),
    [
        ({}, None),
        ({"effort": "best"}, None),
        ({"method": "curve", "effort": "best"}, anon.Curve("best")),
        ({"split": ["least-repeated"]}, anon.Mondrian(split="least-repeated")),
        ({"split": ["age"]}, anon.Mondrian(split=["age"])),
        ({"relaxed": False}, anon.Mondrian(relaxed=False)),
        ({"method": "anatomy", "l": 4.0}, anon.Anatomy(4)),
        ({"method": "identity"}, anon.Identity()),
        ({"method": "tgc", "w_u": 0.75}, anon.TGC(w_u=0.75, w_p=0.25)),
        ({"method": "suppress-quasi"}, anon.Suppress("quasi")),
        ({"method": "suppress-sensitive"}, anon.Suppress("sensitive")),
    ],
)
def test_methods(settings: dict[str, Any], engine: Any) -> None:
    assert Job(**settings).configured_method() == engine


def test_settings_of_another_method_are_refused() -> None:
    with pytest.raises(UsageError, match="--cuts is a setting of --method mondrian"):
        Job(method="anatomy", l=2.0, cuts="median").configured_method()
    with pytest.raises(UsageError, match="--loss is a setting of --method kmembers or curve"):
        Job(k=2, loss="ncp").configured_method()
    with pytest.raises(UsageError, match="--method anatomy needs --l"):
        Job(method="anatomy").configured_method()


@pytest.mark.parametrize("setting", ["kind", "hierarchy", "ordinal", "weight"])
def test_settings_of_a_column_without_a_role_are_refused(setting: str) -> None:
    value: Any = {"kind": "nominal", "hierarchy": "f.csv", "ordinal": "a<b", "weight": 2.0}[setting]
    with pytest.raises(UsageError, match=f"{setting} is given for column 'zip'"):
        Job(quasi=["age"], **{setting: {"zip": value}}).roles()


def test_an_order_and_another_kind_contradict() -> None:
    with pytest.raises(UsageError, match="an order is given, but its kind is nominal"):
        Job(quasi=["a"], ordinal={"a": "x<y"}, kind={"a": "nominal"}).roles()


@pytest.mark.parametrize(
    "hierarchy", ["intervals:five", "prefix:a", "intervals:", "prefix:2.5", "dates:week"]
)
def test_a_short_hierarchy_that_means_nothing_is_refused(hierarchy: str) -> None:
    with pytest.raises(UsageError):
        Job(quasi=["a"], hierarchy={"a": hierarchy}).roles()


@pytest.mark.parametrize("key", ["input", "output", "hierarchy.age", "ordinal.age"])
def test_an_empty_path_in_a_job_file_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError, match=f"{key}.*at least 1 character"):
        load_job(written(tmp_path, f'{key} = ""\n'), {})


def test_the_files_a_job_reads() -> None:
    job = Job(
        quasi=["a", "b", "c", "d"],
        hierarchy={"a": "a.csv", "b": "prefix:2", "c": {"intervals": [5]}},
        ordinal={"c": "c.txt", "d": "low<high"},
    )
    assert job.files() == ["a.csv", "c.txt"]


def test_a_job_file_without_an_end_of_nesting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nested too deeply"):
        load_job(written(tmp_path, f"quasi = {'[' * 3000}"), {})
    deep = f"[hierarchy.zip.tree.{'.'.join('a' * 900)}]"
    job = load_job(written(tmp_path, f'quasi = ["zip"]\n{deep}\nb = ["1"]'), {})
    with pytest.raises(UsageError, match="more than 200 levels"):
        job.roles()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("k = {n}", "k"),
        ("k = -{n}", "k"),
        ("k = -1_0_{n}", "k"),
        ("k = 0x{n}", "k"),
        ("input = 'x'\n[weight]\nage = {n}", "weight.age"),
        ("ordinal = {{ grade = [1, {n}] }}", "ordinal.grade.1"),
        ("delimiter = '{n}'\nk = {n}", "k"),
        ("[hierarchy.age]\nintervals = [5, [{n}]]", "hierarchy.age.intervals.1.0"),
    ],
)
@pytest.mark.parametrize("n_digits", [20, 5000])
def test_an_integer_that_toml_has_no_room_for(tmp_path: Path, text: str, key: str, n_digits: int) -> None:
    path = written(tmp_path, text.format(n="9" * n_digits))
    with pytest.raises(UsageError) as slip:
        load_job(path, {})
    assert str(slip.value) == f"{path}: {key}: the integer has more than 64 bits; give a smaller one"


def test_the_greatest_integers_of_toml(tmp_path: Path) -> None:
    assert load_job(written(tmp_path, f"seed = {2**63 - 1}\ns = {-(2**63)}"), {}).seed == 2**63 - 1


PARTS = ".".join("a" * 20_000)
QUOTES = '"""', "'''"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{PARTS} = 1", 1),
        (f"k = 1\n[{PARTS}]\nx = 1", 2),
        (f"[[{PARTS}]]", 1),
        (f"x = {{ {PARTS} = 1 }}", 1),
        ("'a' . " + PARTS.replace(".", "\t. ") + " = 1", 1),
        ('"a\\".b"' + '."#"' * 2000 + " = 1", 1),
        (f"x = {QUOTES[0]}\n{QUOTES[1]}\n{QUOTES[0]}\n{PARTS} = 1", 4),
    ],
)
def test_a_key_of_very_many_parts_is_refused_before_it_is_read(
    tmp_path: Path, text: str, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda text: pytest.fail("it was read"))
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as slip:
        load_job(path, {})
    assert str(slip.value) == f"{path}, line {line}: a key has more than 1000 parts; shorten it"


@pytest.mark.parametrize(
    "text",
    [
        f"input = '{PARTS}'",
        f'input = "\\"{PARTS}\\\\"',
        f"input = {QUOTES[0]}\n'\"{PARTS}\n{QUOTES[0]}",
        f"input = {QUOTES[1]}\n'\"{PARTS}\n{QUOTES[1]}",
        f"input = 'x' # {PARTS}",
        "input = 'x'\nquasi = [" + "'a.b', " * 2000 + "]",
        "input = 'x'\n" + "\n".join(f"weight.a{i} = 1.0" for i in range(2000)),
        f"input = 'x'\n[hierarchy.zip.{'.'.join('a' * 990)}]\nb = ['1']",
    ],
    ids=range(8),
)
def test_what_is_no_long_key_is_read(tmp_path: Path, text: str) -> None:
    assert load_job(written(tmp_path, text), {}).input is not None


def test_very_many_slips_are_counted(tmp_path: Path) -> None:
    text = "[kind]\n" + "\n".join(f"k{i} = 1" for i in range(3000))
    with pytest.raises(UsageError) as slip:
        load_job(written(tmp_path, text), {})
    assert str(slip.value).count("input should be") == 20
    assert str(slip.value).endswith("; and 2980 more")


def test_a_drafted_hierarchy_of_numbers_is_used_as_the_command_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(map(str, range(20, 60))) + "\n")
    people, drafted = str(tmp_path / "people.csv"), str(tmp_path / "age.csv")
    assert main(["hierarchy", people, "age", "-o", drafted]) == 0
    proposed = capsys.readouterr().out.partition("then ")[2].split()
    assert proposed == ["--hierarchy", f"age={drafted}", "--kind", "age=nominal"]
    ask = ["anonymize", people, "-o", str(tmp_path / "out.csv"), "--quasi", "age", "--k", "2"]
    ask += ["--method", "full-domain"]
    assert main([*ask, *proposed[:2]]) == 2
    assert "to recode it to these labels say --kind age=nominal" in capsys.readouterr().err
    assert main([*ask, "--hierarchy", "age=intervalls:5,10"]) == 2
    assert "did you mean 'intervals:'?" in capsys.readouterr().err
    assert main([*ask, *proposed, "-q"]) == 0
