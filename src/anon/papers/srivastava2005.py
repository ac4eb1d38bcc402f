# SPDX-License-Identifier: Apache-2.0
"""Srivastava & Weis, "Privacy and Utility in Database Anonymization" (slides), December 2005.

Both databases are synthetic here, with the shape that the slides tell of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.datasets import STATES
from anon.html import Section, Table
from anon.measures import Workload, answer, parse_queries
from anon.methods import Mondrian
from anon.papers import Results, Setting, Tested, curves, table_of
from anon.requirements import KAnonymity
from anon.schema import Schema, numeric, ordinal

Row = dict[str, Any]

N_DONATIONS, N_VISITS = 277_274, 29_102
N_DONATION_COMBINATIONS, N_VISIT_COMBINATIONS = 164_649, 9_678  # of quasi-identifiers
DONATION_QUASI, VISIT_QUASI = ("state", "zip", "company"), ("month", "year", "gender", "race", "region")
KS = (2, 5, 10, 25, 50, 100)  # the slides have no list
N_COMPANIES_ASKED = 200
MOST, LEAST = "most similar values first", "least similar values first"
COMPANY, STATE = "Company < State < Zip", "State < Company < Zip"
HEURISTICS: dict[str, str | tuple[str, ...]] = {
    MOST: "most-repeated",
    LEAST: "least-repeated",
    COMPANY: ("company", "state", "zip"),
    STATE: ("state", "company", "zip"),
}
YEAR, REGION = "Year < Month < Region", "Region < Year < Month"
HEALTH_HEURISTICS: dict[str, str | tuple[str, ...]] = {
    MOST: "most-repeated",
    LEAST: "least-repeated",
    YEAR: ("year", "month", "region"),
    REGION: ("region", "year", "month"),
}


def run(setting: Setting) -> Results:
    """The four heuristics against generic and workload-specific metrics, on both databases."""
    ks = KS[1:4] if setting.quick else KS
    gifts = donations(N_DONATIONS)
    sick = visits(N_VISITS)
    roles = _donation_roles(gifts)
    people = setting.sample(gifts, 10_000)
    patients = setting.sample(sick, 5_000)
    donation_rows = _sweep(setting, "donations", people, roles, HEURISTICS, ks, _donation_queries(people))
    health_rows = _sweep(
        setting, "visits", patients, _visit_roles(), HEALTH_HEURISTICS, ks, _visit_queries(patients)
    )
    figures = {
        "donations": gifts.num_rows,
        "donation-combinations": _n_distinct(gifts, DONATION_QUASI),
        "visits": sick.num_rows,
        "visit-combinations": _n_distinct(sick, VISIT_QUASI),
    }
    findings = {
        **_about_dependence(gifts),
        **_about_donations(donation_rows, ks),
        **_about_visits(health_rows, ks),
    }
    output = _output(setting, people, roles)
    return Results(figures, findings, _sections(donation_rows, health_rows, output))


# The synthetic databases


def donations(n: int, seed: int = 0) -> pa.Table:
    """Donations to political committees: `n` rows of state, ZIP, employment ("company"), party and amount.

    A ZIP lies in one state. A third of the donors give an occupation, the others a company, which has a
    home state, and a few ZIPs there where most of its people give from.
    """
    rng = np.random.default_rng(seed)
    zips, first_of_state = _zips()
    inhabitants = np.array([people for _, people, _ in STATES.values()])
    n_companies = 60_000
    home = rng.choice(len(STATES), n_companies, p=inhabitants / inhabitants.sum())
    size = 1 / (np.arange(n_companies) + 40.0) ** 0.85
    company = rng.choice(n_companies, n, p=size / size.sum())
    state = home[company]
    away = rng.random(n) < 0.08
    state[away] = rng.choice(len(STATES), int(away.sum()), p=inhabitants / inhabitants.sum())
    n_zips = np.diff(first_of_state)
    office = np.minimum(rng.geometric(0.5, n) - 1, 7)
    at_office = (company * 7919 + office * 104_729) % n_zips[state]
    at_home = (rng.random(n) ** 3 * n_zips[state]).astype(np.int64)
    place = np.where(rng.random(n) < 0.7, at_office, at_home)
    occupied = rng.random(n) < 0.35
    state[occupied] = rng.choice(len(STATES), int(occupied.sum()), p=inhabitants / inhabitants.sum())
    place[occupied] = (rng.random(int(occupied.sum())) ** 3 * n_zips[state[occupied]]).astype(np.int64)
    occupation = rng.choice(len(OCCUPATIONS), n, p=np.array(OCCUPATION_WEIGHTS) / sum(OCCUPATION_WEIGHTS))
    labels = np.array([*OCCUPATIONS, *_company_names(n_companies, rng)])
    employer = np.where(occupied, occupation, company + len(OCCUPATIONS))
    lean = rng.uniform(0.35, 0.65, len(STATES))[state]
    drawn = rng.random(n)
    party = np.where(drawn < 0.96 * lean, "DEM", np.where(drawn < 0.96, "REP", "OTH"))
    amount = rng.choice([200, 250, 300, 400, 500, 1000, 2000], n, p=[0.12, 0.34, 0.08, 0.05, 0.2, 0.13, 0.08])
    table = pa.table(
        {
            "state": np.array(list(STATES))[state],
            "zip": zips[first_of_state[state] + place],
            "company": labels[employer],
            "party": party,
            "amount": amount,
        }
    )
    return _repeating(table, DONATION_QUASI, n * N_DONATION_COMBINATIONS // N_DONATIONS)


OCCUPATIONS = (
    *("RETIRED", "SELF-EMPLOYED", "ATTORNEY", "HOMEMAKER", "PHYSICIAN", "BUSINESS OWNER", "CONSULTANT"),
    *("REAL ESTATE", "NONE", "INVESTOR", "STUDENT", "TEACHER"),
)
OCCUPATION_WEIGHTS = (40, 20, 10, 8, 6, 4, 3, 3, 2, 2, 1, 1)
ZIPS_PER_100_000 = 5


def _zips() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Every ZIP, state by state, and where each state begins (and one more, the number of ZIPs)."""
    n_zips = [people * ZIPS_PER_100_000 for _, people, _ in STATES.values()]
    zips = [first * 100 + 1 + np.arange(m) for (first, _, _), m in zip(STATES.values(), n_zips, strict=True)]
    first = np.concatenate([[0], np.cumsum(n_zips)])
    return np.concatenate(zips), first


def _company_names(n: int, rng: np.random.Generator) -> list[str]:
    """Different made-up names, in no order."""
    syllables = [consonant + vowel for consonant in "BCDFGKLMNPRSTVZ" for vowel in "AEIOU"]
    numbers = rng.permutation(len(syllables) ** 3)[:n]
    digits = [numbers // len(syllables) ** power % len(syllables) for power in range(3)]
    kinds = ("INC", "CORP", "LLC", "COMPANY")
    return [
        f"{syllables[a]}{syllables[b]}{syllables[c]} {kinds[(a + b + c) % len(kinds)]}"
        for a, b, c in zip(*digits, strict=True)
    ]


def visits(n: int, seed: int = 0) -> pa.Table:
    """Ambulatory visits of 1973: birth month and year, gender, race, region, five sensitive columns."""
    rng = np.random.default_rng(seed)
    age = np.clip(np.concatenate([rng.gamma(1.2, 8, n // 3), rng.normal(47, 18, n - n // 3)]), 0, 97)
    table = pa.table(
        {
            "month": rng.integers(1, 13, n),
            "year": 1973 - rng.permutation(age).astype(np.int64),
            "gender": np.where(rng.random(n) < 0.6, "F", "M"),
            "race": np.where(rng.random(n) < 0.1, "O", "W"),
            "region": rng.choice(["NC", "NE", "S", "W"], n, p=[0.27, 0.24, 0.32, 0.17]),
            "symptom": rng.zipf(1.4, n) % 200 + 300,
            "diagnosis": rng.zipf(1.3, n) % 400 + 1,
            "x-rayed": rng.random(n) < 0.08,
            "therapy": rng.random(n) < 0.03,
            "family planning": rng.random(n) < 0.02,
        }
    )
    return _repeating(table, VISIT_QUASI, n * N_VISIT_COMBINATIONS // N_VISITS)


def _repeating(table: pa.Table, names: Sequence[str], n_combinations: int) -> pa.Table:
    """The table with no more combinations of some columns: rows that are alone in theirs take another's."""
    numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
    combinations = (
        numbered.group_by(list(names)).aggregate([("row", "min"), ([], "count_all")]).sort_by("row_min")
    )
    first, count = combinations["row_min"].to_numpy(), combinations["count_all"].to_numpy()
    surplus = max(combinations.num_rows - n_combinations, 0)
    taken_from = np.arange(table.num_rows)
    taken_from[first[count == 1][:surplus]] = np.resize(first[count > 1], surplus)
    for name in names:
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].take(pa.array(taken_from)))
    return table


def _n_distinct(table: pa.Table, names: Sequence[str]) -> int:
    return int(table.group_by(list(names)).aggregate([]).num_rows)


# The experiments


def _donation_roles(table: pa.Table) -> Schema:
    """Labels have the order of the alphabet: the slides publish them as ranges, as [FL, GU]."""
    return Schema([_labels(table, "state"), numeric("zip"), _labels(table, "company")], ["party", "amount"])


def _labels(table: pa.Table, name: str) -> Any:
    return ordinal(name, sorted(pc.unique(table[name]).to_pylist()))


def _visit_roles() -> Schema:
    return Schema(
        [
            numeric("month"),
            numeric("year"),
            ordinal("gender", ["F", "M"]),
            ordinal("race", ["O", "W"]),
            ordinal("region", ["NC", "NE", "S", "W"]),
        ],
        ["x-rayed"],
    )


def _donation_queries(table: pa.Table) -> dict[str, list[str]]:
    """Selections and COUNTs on every state, and on companies drawn by their donations."""
    drawn = np.random.default_rng(0).choice(table.num_rows, N_COMPANIES_ASKED, replace=False)
    companies = sorted(set(table["company"].take(pa.array(drawn)).to_pylist()))
    states = sorted(pc.unique(table["state"]).to_pylist())
    return {
        "selection, state": [f"state={state}" for state in states],
        "selection, company": [f'company="{company}"' for company in companies],
        "COUNT, state": [f"state={state} & party={party}" for state in states for party in ("DEM", "REP")],
        "COUNT, company": [
            f'company="{company}" & party={party}' for company in companies for party in ("DEM", "REP")
        ],
    }


def _visit_queries(table: pa.Table) -> dict[str, list[str]]:
    years = sorted(pc.unique(table["year"]).to_pylist())
    return {
        "selection, year": [f"year={year}" for year in years],
        "selection, region": [f"region={region}" for region in ("NC", "NE", "S", "W")],
        "COUNT, year": [f"year={year} & x-rayed=true" for year in years],
        "COUNT, region": [f"region={region} & x-rayed=true" for region in ("NC", "NE", "S", "W")],
    }


def _sweep(
    setting: Setting,
    stage: str,
    table: pa.Table,
    schema: Schema,
    heuristics: Mapping[str, str | tuple[str, ...]],
    ks: Sequence[int],
    queries: Mapping[str, Sequence[str]],
) -> list[Row]:
    """C_avg, discernibility and average widths of answers, for every heuristic at every k."""
    rows: list[Row] = []
    workloads: dict[str, Workload] = {}
    n = len(heuristics) * len(ks)
    for name, split in heuristics.items():
        for k in ks:
            setting.tell(stage, len(rows), n)
            release = setting.anonymize(
                table, schema, KAnonymity(k), method=Mondrian(split=split, cuts="median")
            )
            for metric, asked in queries.items():
                if metric not in workloads:
                    workloads[metric] = parse_queries(release.encoded, asked)
            utility = release.utility()
            rows.append(
                {
                    "heuristic": name,
                    "k": k,
                    "normalized size": utility.c_avg,
                    "discernibility": utility.dm,
                    **{metric: answer(each, release).average_width for metric, each in workloads.items()},
                }
            )
    setting.tell(stage, n, n)
    return rows


def _output(setting: Setting, people: pa.Table, roles: Schema) -> Table:
    """Some classes of a release as it is published."""
    release = setting.anonymize(
        people, roles, KAnonymity(5), method=Mondrian(split=HEURISTICS[STATE], cuts="median")
    )
    of_class = np.linspace(0, release.classes.n_classes - 1, 8).astype(np.int64)
    rows = pa.array(release.classes.offsets[:-1][of_class])
    cells = [release.table[name].take(rows).to_pylist() for name in ("state", "zip", "company")]
    sizes = release.classes.sizes[of_class].tolist()
    return Table(
        "Eight classes of a release, k = 5",
        ("state", "zip", "company", "rows"),
        tuple(zip(*cells, sizes, strict=True)),
    )


# Findings

FAR = 10.0  # "disastrous", "crucial" and "really bad": at least so many times the error


def _at(rows: Sequence[Row], k: int, metric: str) -> dict[str, float]:
    return {row["heuristic"]: float(row[metric]) for row in rows if row["k"] == k}


def _numbers(rows: Sequence[Row], ks: Sequence[int], *metrics: str) -> dict[str, Any]:
    return {f"{metric}, k = {k}": _at(rows, k, metric) for metric in metrics for k in ks}


def _mean(rows: Sequence[Row], heuristics: Sequence[str], metrics: Sequence[str]) -> float:
    return float(
        np.mean([row[metric] for row in rows if row["heuristic"] in heuristics for metric in metrics])
    )


def _about_dependence(table: pa.Table) -> dict[str, Tested]:
    """Of the companies with at least five donations: donors in the main state, and ZIPs."""
    employed = table.filter(pc.invert(pc.is_in(table["company"], pa.array(OCCUPATIONS))))
    by_state = employed.group_by(["company", "state"]).aggregate([([], "count_all")])
    by_company = by_state.group_by("company").aggregate([("count_all", "sum"), ("count_all", "max")])
    many = by_company.filter(pc.greater_equal(by_company["count_all_sum"], 5))
    in_main = pc.sum(many["count_all_max"]).as_py() / pc.sum(many["count_all_sum"]).as_py()
    zips = (
        employed.group_by(["company", "zip"]).aggregate([]).group_by("company").aggregate([([], "count_all")])
    )
    n_zips = float(np.median(zips["count_all"].to_numpy()))
    return {
        "dependence": (
            in_main > 0.5 and n_zips <= 10,
            {"share of donors in their company's main state": in_main, "median ZIPs of a company": n_zips},
        )
    }


def _about_donations(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    others = (LEAST, COMPANY)

    def benefits(metric: str) -> bool:
        at = [_at(rows, k, metric) for k in ks]
        return all(max(each[MOST], each[STATE]) < min(each[name] for name in others) for each in at)

    def disastrous(metric: str) -> bool:
        at = [_at(rows, k, metric) for k in ks]
        return all(min(each[MOST], each[STATE]) >= FAR * each[COMPANY] for each in at)

    def best(name: str, attribute: str) -> Tested:
        metrics = (f"selection, {attribute}", f"COUNT, {attribute}")
        at = [_at(rows, k, metric) for metric in metrics for k in ks]
        return all(each[name] == min(each.values()) for each in at), _numbers(rows, ks, *metrics)

    def misled(k: int) -> bool:
        size, error = _at(rows, k, "normalized size"), _at(rows, k, "selection, company")
        return any(size[a] < size[b] and error[a] > error[b] for a in size for b in size)

    company = [_at(rows, k, "selection, company") for k in ks]
    queries = ("selection, state", "selection, company", "COUNT, state", "COUNT, company")
    state_first, company_first = (_mean(rows, (name,), queries) for name in (STATE, COMPANY))
    generic = {metric: _mean(rows, (MOST, LEAST), (metric,)) for metric in queries}
    made_for = {m: _mean(rows, (STATE if m.endswith("state") else COMPANY,), (m,)) for m in queries}
    sizes = [_mean(rows, names, ("normalized size",)) for names in ((MOST, LEAST), (COMPANY, STATE))]
    return {
        "crucial": (
            all(max(each.values()) >= FAR * min(each.values()) for each in company),
            _numbers(rows, ks, "selection, company"),
        ),
        "state-useful": (
            state_first < company_first,
            {"mean error, state first": state_first, "mean error, company first": company_first},
        ),
        "state-benefit": (benefits("selection, state"), _numbers(rows, ks, "selection, state")),
        "company-disaster": (disastrous("selection, company"), _numbers(rows, ks, "selection, company")),
        "count-similar": (
            benefits("COUNT, state") and disastrous("COUNT, company"),
            _numbers(rows, ks, "COUNT, state", "COUNT, company"),
        ),
        "company-first": best(COMPANY, "company"),
        "state-first": best(STATE, "state"),
        "size-misleads": (all(map(misled, ks)), _numbers(rows, ks, "normalized size", "selection, company")),
        "generic-bad": (
            all(max(each[MOST], each[LEAST]) >= FAR * each[COMPANY] for each in company),
            _numbers(rows, ks, "selection, company"),
        ),
        "generic-size": (
            sizes[0] < sizes[1],
            {"mean normalized size, generic": sizes[0], "by a fixed order": sizes[1]},
        ),
        "generic-queries": (
            all(generic[metric] > made_for[metric] for metric in queries),
            {metric: {"generic": generic[metric], "made for it": made_for[metric]} for metric in queries},
        ),
    }


def _about_visits(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    sizes = [_at(rows, k, "normalized size") for k in ks]
    years = [_at(rows, k, "selection, year") for k in ks]
    return {
        "size-blind": (
            all(max(size.values()) <= 1.2 * min(size.values()) for size in sizes)
            and all(max(error.values()) >= FAR * min(error.values()) for error in years),
            _numbers(rows, ks, "normalized size", "selection, year"),
        ),
        "age-perfect": (
            all(error[YEAR] <= 0.1 for error in years),
            {f"k = {k}": error[YEAR] for k, error in zip(ks, years, strict=True)},
        ),
    }


# The page


def _sections(donation_rows: Sequence[Row], health_rows: Sequence[Row], output: Table) -> tuple[Section, ...]:
    def charts(database: str, rows: Sequence[Row], metrics: Sequence[str]) -> Section:
        queries = [metric for metric in metrics if metric not in ("normalized size", "discernibility")]
        return Section(
            database,
            ("An error is (most possible - least possible) / true count, averaged over the queries.",),
            (table_of(f"{database}: every release", rows),),
            (
                *(
                    curves(
                        f"{database}: {metric}",
                        rows,
                        "k",
                        metric,
                        "heuristic",
                        "Lower is better.",
                        log_x=True,
                    )
                    for metric in ("normalized size", "discernibility")
                ),
                *(
                    curves(
                        f"{database}: {metric}",
                        rows,
                        "k",
                        metric,
                        "heuristic",
                        "Average relative error; lower is better.",
                        log_x=True,
                        log_y=True,
                    )
                    for metric in queries
                ),
            ),
        )

    return (
        Section("What a release looks like", (), (output,)),
        charts("Donations (synthetic)", donation_rows, list(donation_rows[0])[2:]),
        charts("Ambulatory visits (synthetic)", health_rows, list(health_rows[0])[2:]),
    )
