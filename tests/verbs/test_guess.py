# SPDX-License-Identifier: Apache-2.0
"""What role `inspect` guesses for a column, and what it says of it."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.command.entry import main
from anon.schema.attribute import Role
from anon.schema.guess import _lists, named, role_of_name, shapes
from anon.verbs.inspect import Column, inspect

AGES = [31, 44, 27, 52, 63, 31, 27, 44]
IBANS = ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "FR1420041010050500013M02606"]


def guessed(name: str, values: Any, **others: Any) -> Column:
    """The column of this name, as inspected beside others."""
    return inspect(pa.table({name: values, **others})).columns[0]


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("first", ["Ann", "Bob", "Cy", "Di", "Ann", "Ed", "Flo", "Gus"], "identifying"),
        ("last", ["Roe", "Doe", "Roe", "Poe", "Doe", "Coe", "Roe", "Doe"], "identifying"),
        ("dob", [dt.date(1950 + i, 1, 1) for i in AGES], "quasi-identifying"),
        ("telephone", ["yes", "none", "yes", "none"] * 2, "neutral"),
        ("telephone", [1, 2, 1, 1] * 2, "neutral"),
        ("telephone", ["030 1234567", "030 7654321"] * 4, "identifying"),
        ("email", [True, False] * 4, "neutral"),
        ("expend", [1201, 2310, 3412, 4590, 5001, 6313, 7045, 8277], "sensitive"),
        ("EXPENDITURE", [1201.5, 2310.25] * 4, "sensitive"),
        ("state", ["NY"] * 8, "neutral"),
        ("age", [40] * 8, "neutral"),
        ("age", [40] * 7 + [None], "quasi-identifying"),
        ("last_name", ["Roe"] * 8, "identifying"),  # one person's rows are still that person's
        ("age", [None] * 8, "neutral"),
        ("patient_id", [1, 1, 2, 2, 3, 3, 4, 4], "identifying"),
        ("id", [1, 1, 2, 2, 3, 3, 4, 4], "identifying"),
        ("HHID", [1, 1, 2, 2, 3, 3, 4, 4], "identifying"),
        ("hh_id", [1, 1, 2, 2, 3, 3, 4, 4], "identifying"),
        ("user_id", ["a", "a", "b", "b"] * 2, "identifying"),
        ("nhs_number", ["943 476 5919", "943 476 5870"] * 4, "identifying"),
        ("design_weight", [1.5, 2.5, 3.5, 1.5, 2.5, 3.5, 1.5, 2.0], "neutral"),
        ("fnlwgt", [77516, 83311, 215646, 234721, 338409, 284582, 160187, 209642], "neutral"),
        ("weight", [812.0417, 1033.2291, 97.1313, 420.5777, 1.2345, 3.4567, 9.8765, 8.7654], "neutral"),
        ("weight", [71, 82.5, 90, 65, 58.25, 77, 80, 99], "quasi-identifying"),
        ("lat", [52.5, 48.1, 50.9, 53.5] * 2, "quasi-identifying"),
        ("longitude", [13.4, 11.5, 6.9, 9.9] * 2, "quasi-identifying"),
    ],
)
def test_columns_that_were_guessed_wrong(name: str, values: list[Any], role: str) -> None:
    assert guessed(name, values).role == role


def test_an_id_of_few_values_on_many_rows_is_a_code_of_kinds() -> None:
    assert guessed("class_id", [1, 2, 3] * 100).role == "neutral"
    assert guessed("patient_id", [1, 2, 3] * 100).role == "identifying"


@pytest.mark.parametrize(
    ("names", "role"),
    [
        (
            "first_name Vorname prénom apellidos cognome sobrenome achternaam name nom nome naam",
            "identifying",
        ),
        (
            "patientId Haushaltsnummer numéro_dossier expediente matricola prontuário klantnummer",
            "identifying",
        ),
        ("ssn Steuernummer NIR DNI codice_fiscale CPF BSN iban passport", "identifying"),
        (
            "e-mail Telefon téléphone teléfono cellulare telemóvel telefoonnummer address Straße",
            "identifying",
        ),
        ("age Alter âge edad età idade leeftijd", "quasi-identifying"),
        ("sex Geschlecht sexe sexo sesso gênero geslacht", "quasi-identifying"),
        ("dateOfBirth Geburtsdatum GEBURTSJAHR date_naissance fecha_nacimiento", "quasi-identifying"),
        ("data_di_nascita data_nascimento geboortedatum", "quasi-identifying"),
        ("zip PLZ Postleitzahl code_postal codigoPostal cap cep postcode", "quasi-identifying"),
        ("city Wohnort ville ciudad città município woonplaats", "quasi-identifying"),
        ("job Beruf métier ocupación professione profissão beroep", "quasi-identifying"),
        ("Koerpergroesse GRÖSSE taille altura altezza lengte", "quasi-identifying"),
        ("diagnosis_1 Diagnose maladie enfermedad malattia doença ziekte", "sensitive"),
        ("income Gehalt Bruttolohn salaire sueldo stipendio salário inkomen", "sensitive"),
        ("religion Konfession partido voto partij", "sensitive"),
        ("account_balance decile_score.2 score_text c_charge_degree drug_name", "sensitive"),
        ("school_id country_code age_cat education-num n_children", "quasi-identifying"),
        ("survey_weight Hochrechnungsfaktor pondération factor_expansion weegfactor", "neutral"),
        ("message group first_visit lasting page stage idea session valid x 列", "neutral"),
    ],
)
def test_words_of_seven_languages(names: str, role: str) -> None:
    assert {name: role_of_name(name).value for name in names.split()} == dict.fromkeys(names.split(), role)


def test_every_listed_word_is_found_in_a_name() -> None:
    lists = _lists()
    for pattern, (_, _, group) in lists.words.items():
        match = named(pattern.strip("=*"))
        assert match is not None, pattern
        assert re.fullmatch(r"=?[a-z0-9]+\*?", pattern), "a word with signs is in no name"
        assert lists.subjects[group].role in Role


@pytest.mark.parametrize(
    ("values", "role", "what"),
    [
        (["a.b@example.org", "c@d.example", "e@f.example"], "identifying", "e-mail"),
        (["+49 30 1234567", "+31 6 12345678", "0033612345678"], "identifying", "phone"),
        (["(212) 555-0101", "212-555-0199", "212.555.0187"], "identifying", "phone"),
        (["01 23 45 67 89", "06.12.34.56.78"], "identifying", "phone"),
        (IBANS, "identifying", "IBAN"),
        (["078-05-1120", "219-09-9999"], "identifying", "social-security"),
        (["AB 12 34 56 C", "CE123456D"], "identifying", "social-security"),
        (["15070649C103", "65 170839 J 003"], "identifying", "social-security"),
        (["RSSMRA85T10A562S", "BNCLRA90A41H501X"], "identifying", "social-security"),
        (["12345678Z", "X1234567L"], "identifying", "social-security"),
        (["529.982.247-25"], "identifying", "social-security"),
        (["4111 1111 1111 1111", "5500-0000-0000-0004"], "identifying", "card"),
        (["123e4567-e89b-12d3-a456-426614174000"], "identifying", "UUID"),
        (["192.168.0.1", "https://example.org/a"], "identifying", "network"),
        (["52.5200, 13.4050", "48.8566,2.3522", "-33.8688 151.2093"], "quasi-identifying", "coordinates"),
        (["SW1A 1AA", "M1 1AE", "90210-1234"], "quasi-identifying", "postcodes"),
        (["E11.9", "I10.0", "F32.1"], "sensitive", "ICD"),
    ],
)
def test_what_values_look_like(values: list[str], role: str, what: str) -> None:
    column = guessed("x", [*values, *values, None, "?"])
    assert (column.role, what in column.why) == (role, True)


@pytest.mark.parametrize(
    "values",
    [
        *(["2020-12-31", "2021-01-31"], ["1.234.567", "2.345.678"], ["12345", "54321"], ["1-2", "3-4"]),
        *(["GB82WEST12345698765433", "DE00370400440532013000"], ["10:30:00", "11:45:00"], ["A1", "B2"]),
        *(["v1.2.3.4.5", "v1"], ["1,234.50", "2,345.75"], ["[10, 20)", "[20, 30)"]),
    ],
)
def test_what_looks_like_no_identifier(values: list[str]) -> None:
    assert guessed("x", values * 3).role == "neutral"


def test_dates_in_text_are_dates() -> None:
    assert guessed("x", ["31.12.2020", "01.02.1999", "31.12.2020"]).role == "quasi-identifying"


def test_free_text_may_name_people() -> None:
    texts = [f"Seen by the nurse {i}, who asked for a second opinion" for i in range(6)]
    assert guessed("remark", texts).role == "identifying"
    assert guessed("diagnosis", texts).role == "identifying"
    kinds = ["Type 2 diabetes mellitus without complications", "Essential hypertension, not otherwise named"]
    assert guessed("diagnosis", kinds * 5).role == "sensitive"
    assert guessed("x", kinds * 5).role == "neutral"


def visits(n_people: int, n_visits: int) -> dict[str, Any]:
    """Ages and ills of people, each on some rows that lie apart."""
    rng = np.random.default_rng(5)
    keys = rng.permutation(np.repeat(rng.permutation(10 * n_people)[:n_people], n_visits))
    return {
        "k": keys,
        "age": keys % 71 + 18,
        "ill": rng.integers(0, 9, len(keys)),
        "stay": rng.integers(0, 40, len(keys)),
    }


@pytest.mark.parametrize("as_text", [False, True])
def test_keys_that_repeat_are_told_by_what_their_rows_share(as_text: bool) -> None:
    table = visits(200, 5)
    if as_text:
        table["k"] = [f"K{key}" for key in table["k"]]
    columns = {column.name: column for column in inspect(pa.table(table)).columns}
    assert columns["k"].role == "identifying"
    assert columns["k"].why.endswith("rows of one value agree in column 'age': a person's key (unit=)")
    assert (columns["stay"].role, columns["age"].role) == ("neutral", "quasi-identifying")


def test_values_that_repeat_by_chance_are_no_keys() -> None:
    table = visits(200, 5)
    table["k"] = np.random.default_rng(6).permutation(table["k"])
    assert inspect(pa.table(table)).columns[0].role == "neutral"


def test_an_area_whose_rows_share_its_places_is_no_key() -> None:
    area = np.random.default_rng(7).integers(0, 200, 1000)
    table = {"area": area, "state": area % 7, "county": area % 50, **visits(200, 5)}
    assert inspect(pa.table(table)).columns[0].role == "neutral"


def test_without_a_column_of_the_person_most_others_must_agree() -> None:
    table = visits(200, 5)
    a, b = table["k"] % 11, table["k"] % 13
    noise = {"stay": table["stay"], "ill": table["ill"]}
    assert inspect({"k": table["k"], "a": a, "b": b}).columns[0].role == "identifying"
    assert inspect({"k": table["k"], "a": a, **noise}).columns[0].role == "neutral"


def test_each_guess_is_explained() -> None:
    whys = {
        "zip_code": (["1", "2"], "its name has 'zip code': a place that others may know"),
        "measured": ([0.1, 0.2], "neither its name nor its values speak for another role"),
        "constant": ([3, 3], "it has the same value in every row"),
        "empty": ([None, None], "it has no values"),
        "record": ([1, 2], "every row has a value of its own"),
        "phone": ([True, False, True], "its name has 'phone', but with so few values it tells only whether"),
        "list": ([[1], [2]], "values of type list<item: int64> are not counted"),
        "seen": ([dt.date(2020, 1, 1), dt.date(2020, 2, 1)], "it holds dates, which others may know"),
    }
    for name, (values, why) in whys.items():
        assert guessed(name, values).why.startswith(why)


def test_the_command_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text("PLZ,expend\n01067,120\n04109,340\n", encoding="utf-8")
    assert main(["inspect", str(path)]) == 0
    assert "its name has 'plz': a place that others may know" in capsys.readouterr().out
    assert main(["inspect", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["columns"]
    assert [column["role"] for column in told] == ["quasi-identifying", "sensitive"]
    assert told[1]["why"] == "its name has 'expend': money"


def test_the_word_list_is_part_of_the_package() -> None:
    folder = Path(anon.__file__).parent
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert (folder / "schema" / "roles.toml").is_file()
    assert '"schema/*.toml"' in project.read_text(encoding="utf-8")
    assert len(shapes()) > 5


NAMES = [f"N{number}" for number in range(200)]


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("name", ["Ann", "Bob"] * 100, "its name has 'name': a name"),
        ("patient_id", [*range(100)] * 2, "its name has 'patient id': a number or key of one person"),
        ("contact", [f"a{i}@example.org" for i in range(200)], "most of its values look like e-mail"),
        ("told", NAMES, "every row has a value of its own"),
    ],
)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_names_that_are_given_another_role_are_warned_of(
    name: str, values: list[Any], why: str, role: str
) -> None:
    roles = {"quasi": [name], "sensitive": ["told_of"]} if role == "quasi" else {"quasi": ["age"]}
    schema = anon.Schema(**({"sensitive": [name]} | roles))
    table = pa.table({name: values, "age": [*range(50)] * 4, "told_of": [*"ab"] * 100})
    what = "quasi-identifying" if role == "quasi" else "sensitive"
    said = f"column {name!r} is {what} and so is published, but it may identify people: {why}"
    with pytest.warns(anon.PrivacyWarning, match=re.escape(said)) as caught:
        anon.anonymize(table, schema, require=[anon.KAnonymity(2)])
    assert "make it identifying to drop it" in str(caught[0].message)


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ("age", [*range(200)]),
        ("measured", [*range(200)]),
        ("phone", [True, False] * 100),
        (anon.nominal("told", anon.prefix(2)), NAMES),
        (anon.ordinal("told", NAMES), NAMES),
    ],
)
def test_other_quasi_identifiers_are_not(attribute: Any, values: list[Any]) -> None:
    name = attribute if isinstance(attribute, str) else attribute.name
    anon.anonymize(pa.table({name: values}), anon.Schema([attribute]), require=[anon.KAnonymity(2)])
    suppressed = pa.table({"name": NAMES, "age": [*range(200)]})
    anon.anonymize(suppressed, anon.Schema(["name"]), method=anon.Suppress("quasi"))


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ({"patient_id": [1, 1, 2, 2, 3, 3, 4, 4]}, {"patient_id": "unit"}),
        ({"patient_id": [1, 1, 2, 2, 3, 3, 4, None]}, {}),  # whose row that is nobody knows
        ({"patient_id": [*range(8)]}, {}),
        ({"pid": [1, 2] * 100, "hid": [*range(50)] * 4}, {"hid": "unit"}),  # members of a household
        ({"visit_id": [*range(100)] * 2, "patient_id": [*range(40)] * 5}, {"patient_id": "unit"}),
        ({"last_name": ["Roe", "Doe"] * 8}, {}),
        ({"fnlwgt": [1.5, 2.5], "repwt1": [1.5, 3.5]}, {"fnlwgt": "sampling_weight"}),
        ({"repwt1": [1.5, 3.5], "design_weight": [1, 2]}, {"design_weight": "sampling_weight"}),
        ({"design_weight": [1.5, 0.0]}, {}),
        ({"design_weight": [1.5, None]}, {}),
        ({"weight": [812.0417, 1033.2291, 97.1313, 1.2345]}, {"weight": "sampling_weight"}),
        ({"weight": [71, 82, 65, 90]}, {}),
        (visits(200, 5), {"k": "unit"}),
    ],
)
def test_units_and_weights_are_proposed(table: dict[str, Any], keys: dict[str, str]) -> None:
    assert {each.name: each.key for each in inspect(pa.table(table)).columns if each.key} == keys
