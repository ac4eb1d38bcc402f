# SPDX-License-Identifier: Apache-2.0
"""Attacks on what the product writes, kept as tests.

Each attack is a module of plain functions that knows only what its adversary knows, with a `main` that
prints what it gets at any size (`python tests/attacks/NAME.py --rows N`), and a `test_NAME.py` that
runs it small and holds it to a threshold: the promise, and as much beyond as chance gives once in ten
million runs. An attack that should fail is also run on something that is known to leak, so that its
failure means something.

`replay`: a method run again with its own seed, against its own files. No better than the promise.
`ties`: people with equal quasi-identifiers are not dealt into buckets by their sensitive values.
`limits`: what no requirement bounds (learning across buckets, two releases, neutral columns). Its numbers
stand in docs/security.md, and the test compares them.
"""
