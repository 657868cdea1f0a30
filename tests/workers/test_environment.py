# SPDX-License-Identifier: Apache-2.0
"""The environment of a worker: nothing but what is allowed, whatever the dispatcher has."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellguard.workers import environment, trusted
from shellguard.workers.profiles import Profile

PROFILE = Profile("p", "/x", ("true",))

SECRETS = {
    name: f"canary-{number}"
    for number, name in enumerate(
        (
            *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "GH_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
            *("DATABASE_URL", "PGPASSWORD", "SSH_AUTH_SOCK", "KUBECONFIG", "npm_config__auth", "MY_UNKNOWN"),
            *("x", "LC_SECRET", "SHELLGUARD_BOARD", "SHELLGUARD_TOKEN", "SHELLGUARD_HOME", "LD_PRELOAD"),
            *("PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV", "GIT_DIR", "XDG_STATE_HOME", "LANG_SECRET"),
        )
    )
}


def built(given: dict[str, str] | None = None, profile: Profile = PROFILE) -> dict[str, str]:
    return environment.build(
        profile,
        card="c-1",
        run="r1",
        workspace="/w",
        token="t0",
        log="/log",
        home="/home-of-card",
        tmp="/tmp-of-run",
        settings='{"model": "m"}',
        given=given or {},
    )


def test_secrets_of_the_dispatcher_do_not_arrive_and_the_contract_does() -> None:
    found = built(SECRETS | {"LANG": "C.UTF-8", "TZ": "UTC", "USER": "u", "HOME": "/home/u", "PATH": ".:.."})
    assert not [name for name, value in found.items() if "canary" in value]
    assert found == {
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "USER": "u",
        "PATH": os.pathsep.join(trusted.default_search()),
        "HOME": "/home-of-card",
        "TMPDIR": "/tmp-of-run",
        "SHELLGUARD_CARD": "c-1",
        "SHELLGUARD_RUN": "r1",
        "SHELLGUARD_BOARD": "",
        "SHELLGUARD_WORKSPACE": "/w",
        "SHELLGUARD_TOKEN": "t0",
        "SHELLGUARD_LOG": "/log",
        "SHELLGUARD_SESSION": "c-1",
    }
    assert set(environment.CONTRACT) < set(found)


def test_what_a_profile_names_arrives_and_nothing_of_another_profile() -> None:
    one = Profile("p", "/x", ("true",), environment=("GITHUB_TOKEN", "NOT_SET"))
    found = built(SECRETS, one)
    assert [name for name, value in found.items() if "canary" in value] == ["GITHUB_TOKEN"]
    assert "NOT_SET" not in found


@given(st.dictionaries(st.text(min_size=1, max_size=12), st.just("canary"), max_size=30))
def test_a_name_that_nobody_allowed_does_not_arrive(variables: dict[str, str]) -> None:
    names = set(variables) - set(environment.PASSED)
    found = built(dict.fromkeys(names, "canary"))
    assert "canary" not in found.values()
    assert (
        "canary" not in environment.for_supervisor(dict.fromkeys(names - {"LANG", "TZ"}, "canary")).values()
    )


def test_the_home_of_the_user_only_where_the_profile_says_so() -> None:
    own = Profile("p", "/x", ("true",), home="own")
    assert built({"HOME": "/home/u"}, own)["HOME"] == "/home/u"
    assert built({"HOME": "/home/u"})["HOME"] == "/home-of-card"


def test_the_path_is_the_trusted_one() -> None:
    one = Profile("p", "/x", ("true",), search=("/opt/a", "/usr/bin"))
    assert built({"PATH": ".:/evil"}, one)["PATH"] == "/opt/a:/usr/bin"


def test_settings_of_a_card_reach_agents_only() -> None:
    assert environment.SETTINGS not in built()
    agent = Profile("p", "/x", ("true",), is_agent=True)
    assert built({}, agent)[environment.SETTINGS] == '{"model": "m"}'


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_the_supervisor_gets_no_secret_either(name: str) -> None:
    found = environment.for_supervisor({name: "canary", "LANG": "C"})
    assert "canary" not in found.values()
    assert found["PATH"] == os.pathsep.join(trusted.default_search())
