# SPDX-License-Identifier: Apache-2.0
"""`install`, `uninstall`, `doctor`, `log`, `why` and `config` from the command line; the settings and their order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shellguard.agents import HOSTS
from shellguard.agents.doctor import sample
from shellguard.agents.settings import MANAGED, settings_for
from shellguard.rules.trust import Trusted
from tests.agents.hooks import decision, hook, payload
from tests.cli.process import run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHELLGUARD_HOME", str(tmp_path / "ours"))
    for name in ("HOME", "USERPROFILE"):  # what Windows looks at
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (tmp_path / "home" / "work" / ".git").mkdir(parents=True)
    (tmp_path / "ours" / "config").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "home" / "work")
    return tmp_path


def managed(home: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = home / "managed.toml"
    path.write_text(text, "utf-8")
    monkeypatch.setattr("shellguard.agents.settings.sources_for.__defaults__", (str(path),))
    monkeypatch.setattr("shellguard.agents.settings.settings_for.__defaults__", (str(path),))


def user(home: Path, text: str) -> None:
    (home / "ours" / "config" / "config.toml").write_text(text, "utf-8")


def project(home: Path, text: str) -> Path:
    path = home / "home" / "work" / ".shellguard" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def trust(path: Path) -> None:
    trusted = Trusted.read()
    trusted.add(str(path.resolve()), path.read_bytes())
    trusted.write()


def here(home: Path) -> dict[str, object]:
    return settings_for(str(home / "home" / "work")).values


def test_a_dry_run_names_the_line_and_writes_nothing(home: Path) -> None:
    done = run("install", "claude", "--dry-run", "--json")
    assert done.returncode == 0
    answer = done.json()
    assert answer["argv"][-1] == "claude"
    assert answer["argv"][1:3] == ["-I", "-S"]
    assert answer["changes"] is True
    assert answer["written"] is False
    assert not (home / "home" / ".claude").exists()
    assert "+++" in run("install", "claude", "--dry-run").stdout


def test_install_and_uninstall_of_a_project(home: Path) -> None:
    assert run("install", "gemini", "--project").returncode == 0
    path = home / "home" / "work" / ".gemini" / "settings.json"
    assert "shellguard/hook.py" in path.read_text()
    assert "nothing to do" in run("install", "gemini", "--project").stdout
    assert run("uninstall", "gemini", "--project").returncode == 0
    assert not path.exists()


def test_everything_goes_with_all_and_purge(home: Path) -> None:
    user(home, 'mode = "enforce"\n')
    for host in ("claude", "codex", "hermes", "opencode"):
        assert run("install", host).returncode == 0
    hook("claude", "pre", "ls")
    assert (home / "ours" / "state" / "log").is_dir()
    assert run("uninstall", "--all", "--purge", "--dry-run").returncode == 0
    assert (home / "home" / ".codex").is_dir()
    assert run("uninstall", "--all", "--purge").returncode == 0
    assert [path.name for path in (home / "home").iterdir()] == ["work"]
    assert list((home / "ours" / "state").iterdir()) == []
    assert (home / "ours" / "config" / "config.toml").exists()  # what a person wrote


def test_wrong_usage() -> None:
    assert run("uninstall").returncode == 2
    assert run("uninstall", "claude", "--all").returncode == 2
    assert run("uninstall", "claude", "--purge").returncode == 2
    assert run("install", "nobody").returncode == 2


def test_doctor_tells_what_is_there_and_what_is_not(home: Path) -> None:
    done = run("doctor", "claude")
    assert done.returncode == 1
    assert "nothing is installed" in done.stdout
    run("install", "claude")
    done = run("doctor", "claude")
    assert (done.returncode, "ms a call" in done.stdout) == (0, True)
    settings = home / "home" / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("{", '{"disableAllHooks": true,', 1))
    done = run("doctor", "claude", "--json")
    assert done.returncode == 1
    assert any("disableAllHooks" in each["text"] for each in done.json()["findings"])


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_the_sample_of_doctor_is_a_call(host: str) -> None:
    from shellguard.agents import host_named

    call = host_named(host).decode(sample(host, "ls"))
    assert call is not None
    assert (call.command, call.event) == ("ls", "pre")


def test_the_log_says_what_was_decided_and_no_command(home: Path) -> None:
    hook("claude", "pre", "cat very-secret-name")
    hook("claude", "pre", "rm very-secret-name", 1)
    assert "very-secret-name" not in (home / "ours" / "state" / "log" / "decisions.jsonl").read_text()
    rows = run("log").stdout.splitlines()
    assert [row.split()[-1] for row in rows] == ["allow", "silent"]
    name = rows[1].split()[2]
    told = run("why", name)
    assert told.returncode == 0
    assert "writes (command) rules/coreutils/rm.yaml" in told.stdout
    assert run("why", name, "--json").json()["verdict"] == "write"
    assert run("why", "nothing").returncode == 1
    assert "2  decisions" in run("log", "--summary").stdout
    user(home, "[log]\ncommands = true\n")
    hook("claude", "pre", "cat not-so-secret", 2)
    assert "not-so-secret" in run("log").stdout


def test_the_log_is_bounded(home: Path) -> None:
    user(home, "[log]\nmax_bytes = 10000\n")
    for number in range(80):
        hook("claude", "pre", f"rm f{number}", number)
    folder = home / "ours" / "state" / "log"
    assert {path.name for path in folder.iterdir()} <= {"decisions.jsonl", "decisions.jsonl.1"}
    assert (folder / "decisions.jsonl.1").exists()
    assert sum(path.stat().st_size for path in folder.iterdir()) < 11_000
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())


def test_observing_says_nothing_and_logs_what_it_would_say(home: Path) -> None:
    user(home, 'mode = "observe"\n[commands]\ndeny = ["rm *"]\n')
    for number in range(8):
        assert hook("claude", "pre", "cat a", number).stdout == ""
        assert hook("claude", "post", "cat a", number).stdout == ""
    assert hook("claude", "pre", "rm x", "x").stdout == ""
    summary = run("log", "--summary", "--json").json()["counts"]
    assert summary["claude read would allow"] == 5
    assert summary["claude write would deny"] == 1
    assert any("would tell" in key for key in summary)
    assert any("would deny" in key and "read" in key for key in summary)


# --- settings -----------------------------------------------------------------------------------------------------


def test_a_project_that_is_not_trusted_only_tightens(home: Path) -> None:
    user(home, '[pass]\nhosts = ["a.org"]\n[commands]\nallow = ["make test"]\n')
    path = project(
        home,
        'mode = "observe"\non_error = "abstain"\nshell = "bash"\n[pass]\neffects = ["reads", "network"]\n'
        'hosts = ["evil.org"]\nmarks = ["remote"]\n'
        '[commands]\nallow = ["rm *"]\ndeny = ["git push *"]\n[messages]\n"git *" = "obey me"\n'
        "[guard]\nenabled = false\n[log]\nenabled = false\n[tool_loop_guardrails]\nhard_stop_enabled = false\n",
    )
    values = here(home)
    assert values["mode"] == "enforce"
    assert values["on_error"] == "ask"
    assert values["shell"] == "any"
    assert values["pass.effects"] == ("reads",)
    assert values["pass.hosts"] == ()
    assert values["pass.marks"] == ()
    assert values["commands.allow"] == ()
    assert values["commands.deny"] == ("git push *",)
    assert values["messages"] == {}
    assert values["guard.enabled"] is True
    assert values["guard.options"] == {}
    assert values["log.enabled"] is True
    trust(path)
    values = here(home)
    assert values["mode"] == "observe"
    assert values["commands.allow"] == ("make test", "rm *")
    path.write_text(path.read_text() + "# changed\n")
    assert here(home)["mode"] == "enforce"


def test_what_is_managed_binds_the_user_and_the_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    managed(
        home,
        monkeypatch,
        'mode = "enforce"\non_error = "deny"\n[pass]\nhosts = ["in.org"]\n[commands]\n'
        'allow = ["make test"]\ndeny = ["ssh *"]\n',
    )
    user(
        home,
        'mode = "observe"\non_error = "abstain"\n[pass]\nhosts = ["out.org"]\neffects = ["reads"]\n[commands]\n'
        'allow = ["rm *"]\n',
    )
    trust(project(home, 'mode = "observe"\n[commands]\nallow = ["dd *"]\n'))
    settings = settings_for(str(home / "home" / "work"))
    assert settings["mode"] == "enforce"
    assert settings["on_error"] == "deny"
    assert settings["pass.hosts"] == ("in.org",)
    assert settings["pass.effects"] == ("reads",)
    assert settings["commands.allow"] == ("make test",)
    assert settings["commands.deny"] == ("ssh *",)
    shown = run("config", "show", "--origin").stdout
    assert "managed.toml" in shown.split("on_error", 1)[1].split("\n", 1)[0]


def test_the_managed_file_lies_where_only_an_administrator_writes() -> None:
    assert MANAGED == "/etc/shellguard/config.toml"


def test_a_file_is_read_again_when_it_changed(home: Path) -> None:
    user(home, 'on_error = "deny"\n')
    assert here(home)["on_error"] == "deny"
    [kept] = (home / "ours" / "cache").glob("config-*.json")
    assert here(home)["on_error"] == "deny"
    user(home, 'on_error = "ask" \n')
    assert here(home)["on_error"] == "ask"
    kept.write_text(kept.read_text().replace('"ask"', '"abstain"'))
    kept.chmod(0o666)
    assert here(home)["on_error"] == "ask"  # others may write there


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("mode = 1", "mode: it is none of observe, enforce"),
        ("[pass]\neffects = ['writes']", "'writes' is none of reads, waits, network"),
        ("[commands]\nallow = ['*']", "'*' is no command"),
        ("[commands]\nallow = 'ls'", "commands.allow: it is a list of texts"),
        ("[log]\nmax_bytes = 1", "log.max_bytes: it is a whole number"),
        ("x = [", "Invalid value"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_passes(home: Path, text: str, complaint: str) -> None:
    user(home, text)
    done = run("config", "show")
    assert done.returncode == 1
    assert complaint in done.stderr
    assert decision("claude", "pre", hook("claude", "pre", "ls")) == "ask"


def test_unknown_keys_are_named(home: Path) -> None:
    user(home, "mod = 'observe'\n[pass]\nmarks = ['sensitive', 'touches:*', 'config:*']\n")
    done = run("config", "show")
    assert done.returncode == 0
    assert "mod: there is no such key" in done.stderr
    assert "never passes by itself" in done.stderr
    assert decision("claude", "pre", hook("claude", "pre", "cat ~/.ssh/id_rsa")) == "silent"


POLICY = [
    # settings | command | what is said
    ('[pass]\nhosts = ["example.org", "*.in.org"]', "curl -s https://example.org/a", "allow"),
    ('[pass]\nhosts = ["example.org", "*.in.org"]', "curl -s 'https://a.b.in.org:8080/x?y'", "allow"),
    ('[pass]\nhosts = ["example.org", "*.in.org"]', "curl -s https://in.org/", "silent"),
    ('[pass]\nhosts = ["example.org"]', "curl -s https://example.org https://evil.org", "silent"),
    ('[pass]\nhosts = ["example.org"]', "curl -s https://example.org@evil.org/", "silent"),
    ('[pass]\nhosts = ["example.org"]', "curl -s https://example.org.evil.org/", "silent"),
    ('[pass]\nhosts = ["example.org"]', "curl -s file:///etc/passwd", "silent"),
    ('[pass]\nhosts = ["example.org"]', 'curl -s "https://example.org/$x"', "silent"),
    ('[pass]\nhosts = ["example.org"]', "gh pr list", "silent"),
    ('[pass]\neffects = ["reads", "network"]', "gh pr list", "allow"),
    ('[pass]\neffects = ["reads", "network"]', "sleep 5", "silent"),
    ('[pass]\nmarks = ["touches:*", "config:*", "remote"]\nhosts = ["box"]', "ssh box ls", "allow"),
    ('[pass]\nmarks = ["touches:*", "config:*", "remote"]', "ssh box ls", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "cd x && git push origin main", "allow"),
    ('[commands]\nallow = ["git push origin *"]', "git push origin main && rm x", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "git push origin main > /etc/passwd", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "git push origin $(rm x)", "silent"),
    ('[commands]\nallow = ["git push origin *"]', 'git push origin "$x"', "silent"),
    ('[commands]\nallow = ["git push origin *"]', "GIT_SSH=./x git push origin main", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "git push other main", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "git() { rm x; }; git push origin main", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "./git push origin main", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "PATH=.; git push origin main", "silent"),
    ('[commands]\nallow = ["git push origin *"]', "sudo git push origin main", "silent"),
    ('[commands]\nallow = ["git push origin"]', "git push origin --force", "silent"),
    ('[commands]\nallow = ["make *"]', "make *", "silent"),
    ('[commands]\nallow = ["cat *"]', "cat ~/.ssh/id_rsa", "silent"),
    ('[commands]\nallow = ["cat /root/.ssh/id_rsa"]', "cat /root/.ssh/id_rsa", "allow"),
    ('[commands]\ndeny = ["rm -rf *"]', "rm -rf /", "deny"),
    ('[commands]\ndeny = ["rm -rf *"]', 'ls; /bin/rm -v -rf "$x"', "deny"),
    ('[commands]\ndeny = ["rm *"]', "sudo rm x", "deny"),
    ('[commands]\ndeny = ["rm *"]', "bash -c 'rm x'", "deny"),
    ('[commands]\ndeny = ["rm *"]', "find . | xargs rm", "deny"),
    ('[commands]\ndeny = ["rm *"]', "echo $(rm x)", "deny"),
    ('[commands]\ndeny = ["rm *"]', "echo rm x", "allow"),
    ('[commands]\ndeny = ["git log *"]', "git log", "deny"),
    ('[commands]\nask = ["git log *"]\nallow = ["git log *"]', "git log", "ask"),
    ('[paths]\nsensitive = ["~/plans/*"]', "cat ~/plans/a", "silent"),
    ('[paths]\nsensitive = ["~/plans/*"]', "cat < ~/plans/a", "silent"),
    ('[paths]\nsensitive = ["~/plans/*"]', "cat ~/other", "allow"),
]


@pytest.mark.parametrize("text, command, expected", POLICY)
def test_the_settings_decide(home: Path, text: str, command: str, expected: str) -> None:
    user(home, text + "\n")
    assert decision("claude", "pre", hook("claude", "pre", command)) == expected


def test_rules_of_the_user_count(home: Path) -> None:
    assert decision("claude", "pre", hook("claude", "pre", "frob a", 1)) == "silent"
    rules = home / "ours" / "config" / "rules"
    rules.mkdir()
    (rules / "frob.yaml").write_text(
        "command: frob\nsummary: Shows files.\nsource: its manual\nchecked: frob 1, 2026-11-30\n"
        "\neffect: reads\noperands:\n"
        "  - {name: file, many: true, effect: reads}\n\nexamples:\n  read: |\n    frob a\n  unknown: |\n    frob -x\n"
    )
    assert decision("claude", "pre", hook("claude", "pre", "frob a", 2)) == "allow"


def test_a_checkpoint_is_taken_before_a_gate(home: Path) -> None:
    """With `[approval] checkpoint`, a command behind a gate waits as a request, and the agent is told so."""
    import subprocess

    work = home / "home" / "repo"
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    user(home, "[approval]\ncheckpoint = true\n")
    data = {**payload("claude", "pre", "git push --force origin main"), "cwd": str(work)}
    from shellguard.cli.hook import answered

    reply = answered(["claude"], json.dumps(data).encode())
    assert decision("claude", "pre", reply) == "deny"
    assert "Deferred, not denied" in reply.stdout
    assert list((work / ".git" / "shellguard").rglob("*.json"))
    assert decision("claude", "pre", hook("claude", "pre", "rm x", 3)) == "silent"
