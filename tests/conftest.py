# SPDX-License-Identifier: Apache-2.0
"""Settings that hold for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# `ci` tries the same examples on every machine and in every run, so that a red test is never a matter of
# luck; it keeps no database, which could make two machines differ. `deep` looks for new examples:
# pytest --hypothesis-profile=deep. Neither has a deadline: the time that one example takes says more about
# the machine than about the code.
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    max_examples=5_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")
