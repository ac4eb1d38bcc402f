# SPDX-License-Identifier: Apache-2.0
"""Attacks on what the product writes, kept as tests.

Each attack is a module of plain functions that knows only what its adversary knows, with a `main` that
prints what it gets at any size (`python tests/attacks/NAME.py --rows N`), and a `test_NAME.py` that
runs it small and holds it to a threshold: the promise, and as much beyond as chance gives once in ten
million runs. An attack that should fail is also run on something that is known to leak, so that its
failure means something.

`replay`: a method run again with its own seed, against its own files. No better than the promise.
`ties`: people with equal quasi-identifiers are not dealt into buckets by their sensitive values.
`hash_oracle`: candidates of the input cannot be confirmed by hashing what is handed out.
`file`: whatever reader opens a CSV release, every class holds what was asked for.
`limits`: what no requirement bounds (learning across buckets, two releases, neutral columns). Its numbers
stand in docs/security.md, and the test compares them.

What must not be in the bytes of a file (suppressed values, unused ones, names of dropped columns,
metadata) is searched for in `tests/tables/test_columns.py`, `tests/release/test_write.py` and
`tests/house/test_secrets.py`; what others put at the names of temporary files in
`tests/tables/test_files.py`.
"""
