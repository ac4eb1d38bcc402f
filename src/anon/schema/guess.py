# SPDX-License-Identifier: Apache-2.0
"""Roles that the name of a column suggests."""

from __future__ import annotations

import re

from anon.schema.attribute import Role

IDENTIFYING_SHARE = 0.9  # a column with a greater share of distinct values identifies people

IDENTIFYING_WORDS = {
    *("name", "firstname", "lastname", "surname", "forename", "fullname", "username", "login", "email"),
    *("mail", "phone", "telephone", "mobile", "fax", "address", "street", "ssn", "passport", "iban", "uuid"),
    *("mrn", "ip", "url", "licence", "license", "plate", "account", "nin"),
}
QUASI_WORDS = {
    *("age", "sex", "gender", "birth", "birthday", "birthdate", "birthplace", "dob", "yob", "born", "death"),
    *("zip", "zipcode", "postcode", "postal", "postalcode", "plz", "city", "town", "county", "state"),
    *("region", "country", "province", "district", "nationality", "citizenship", "race", "ethnicity"),
    *("ethnic", "marital", "relationship", "education", "school", "degree", "language", "workclass"),
    *("occupation", "profession", "job", "employer", "height", "weight", "children", "hours"),
}
SENSITIVE_WORDS = {
    *("disease", "diagnosis", "diagnoses", "illness", "condition", "symptom", "icd", "icd10", "hiv"),
    *("treatment", "medication", "drug", "therapy", "surgery", "disability", "salary", "income", "wage"),
    *("wages", "pay", "earnings", "debt", "loan", "balance", "credit", "religion", "party", "vote"),
    *("sexual", "orientation", "crime", "conviction", "offense", "offence", "grade", "score"),
}


def is_id_like(name: str) -> bool:
    """Whether a column's name speaks of the number of a person or a household: patient_id, HHID, userId."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return role_of_name(name) is Role.IDENTIFYING or any(
        word in ("id", "ids", "nr", "number") or word.endswith("id") for word in words
    )


def role_of_name(name: str) -> Role:
    """The role that a column's name speaks of; neutral where it says nothing."""
    words = set(re.findall(r"[a-z]+[0-9]*", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
    for role, known in (
        (Role.IDENTIFYING, IDENTIFYING_WORDS),
        (Role.QUASI, QUASI_WORDS),
        (Role.SENSITIVE, SENSITIVE_WORDS),
    ):
        if words & known:
            return role
    return Role.NEUTRAL
