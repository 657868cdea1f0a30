# SPDX-License-Identifier: Apache-2.0
"""Scripts made of pieces, with the real tools as judges: what is called harmless leaves its folder as it was.

And the laws of small languages: two scripts together do what each of them does; what a reader refuses is `unknown`.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from shellguard import classify
from tests.analysis import throwaway
from tests.analysis.test_embedded import effects_of, rows
from tests.analysis.texts import SED_PIECES

SEDS = (["sed", "-n"], ["sed", "--posix"], ["busybox", "sed"], ["toybox", "sed"])
AWKS = (["gawk"], ["mawk"], ["original-awk"], ["busybox", "awk"], ["gawk", "--posix"])
TARS = (["tar"], ["bsdtar"], ["busybox", "tar"])
INPUT = b"a\nx a\n/b\n"

many = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
)
sed_scripts = st.lists(st.lists(st.sampled_from(SED_PIECES), max_size=7).map("".join), min_size=1, max_size=2)


def _awk_expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    forms = (
        "{} {}",
        "{} / {}",
        "{} /{}/ 1",
        "{} > {}",
        "{} ~ {}",
        "{}?{}:1",
        "a[{}]{}",
        "({}, {}) in a",
        "{} && {}",
    )
    single = (
        "({})",
        "!{}",
        "-{}",
        "x++ /{}",
        "length /{}",
        "system({})",
        "{} | getline",
        "getline x < {}",
        "x = {}",
        "${}",
    )
    return st.one_of(
        st.tuples(st.sampled_from(forms), pair).map(lambda made: made[0].format(*made[1])),
        st.tuples(st.sampled_from(single), inner).map(lambda made: made[0].replace("{}", made[1])),
    )


awk_expressions = st.recursive(
    st.sampled_from(
        (
            "x",
            "1",
            "$1",
            '"a"',
            "/a/",
            "NR",
            "length",
            '"touch out"',
            '"out"',
            '/"/',
            "/[/]/",
            "x++",
            '"/"',
            "getline",
            '"ls" | getline',
            'system("ls")',
            'system("touch out")',
            'system("")',
            "2x",
        )
    ),
    _awk_expressions,
    max_leaves=4,
)


def _awk_statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    forms = (
        "if ({e}) {s}",
        "if ({e}) {s}; else {s}",
        "for (k in a) {s}",
        "{{{s};{s}}}",
        "do {s}; while (0)",
        "{s}\n{s}",
    )
    return st.tuples(st.sampled_from(forms), awk_expressions, inner).map(
        lambda made: made[0].format(e=made[1], s=made[2])
    )


awk_statements = st.recursive(
    st.tuples(
        st.sampled_from(
            (
                "print {}",
                "print 1, {}",
                "print {} > {}",
                "print >> {}",
                "print {} | {}",
                "printf({}) > {}",
                "print({})({})",
                "{}",
            )
        ),
        awk_expressions,
        awk_expressions,
    ).map(lambda made: made[0].replace("{}", made[1], 1).replace("{}", made[2])),
    _awk_statements,
    max_leaves=3,
)
awk_programs = st.tuples(
    st.sampled_from(
        ("{%s}", "BEGIN{%s}", "/a/{%s}", "{print;%s}", "function f(a){%s} {f(1)}", "{%s}\n{print}")
    ),
    awk_statements,
).map(lambda made: made[0] % made[1])


def judge(tools: tuple[list[str], ...], words: list[str], folder: Path) -> None:
    """Runs each tool that is here with these words; nothing may be left behind."""
    for tool in tools:
        if shutil.which(tool[0]) is None:
            continue
        with contextlib.suppress(subprocess.TimeoutExpired):  # a loop that prints
            subprocess.run(
                [*tool, *words], input=INPUT, capture_output=True, timeout=1, check=False, cwd=folder
            )
        left = sorted(path.name for path in folder.iterdir())
        for path in folder.iterdir():
            path.unlink()
        assert left == [], (tool, words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "here"
    made.mkdir()
    return made


@pytest.mark.skipif(shutil.which("sed") is None, reason="no sed here")
@many
@given(pieces=sed_scripts)
def test_a_harmless_sed_script_leaves_nothing(pieces: list[str], folder: Path) -> None:
    words = [word for piece in pieces for word in ("-e", piece)]
    assume(classify(shlex.join(["sed", *words])).read_only)
    judge(SEDS, words, folder)


@pytest.mark.skipif(shutil.which("gawk") is None, reason="no gawk here")
@many
@given(program=awk_programs)
def test_a_harmless_awk_program_leaves_nothing(program: str, folder: Path) -> None:
    assume(classify(shlex.join(["awk", "--", program])).read_only)
    judge(AWKS, ["--", program], folder)


FIND_PIECES = (
    *(
        "-name",
        "x.py",
        "*.txt",
        "-type",
        "f",
        "d",
        "(",
        ")",
        "!",
        "-o",
        "-print",
        "-delete",
        "-fprint",
        "out",
        "-exec",
        "rm",
    ),
    *(
        "cat",
        "grep",
        "-q",
        "{}",
        ";",
        "+",
        "-printf",
        "%p",
        "-fls",
        "-ok",
        "-prune",
        "-newer",
        "f.txt",
        "-fprintf",
        ",",
        "-ls",
    ),
    *(
        "-maxdepth",
        "1",
        "-execdir",
        "touch",
        "-quit",
        "-empty",
        "-samefile",
        "-print0",
        "-size",
        "-path",
        "sed",
        "-i",
        "s/a/b/",
    ),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("find") / "tree"
    made.mkdir()
    throwaway.make_folder(made)
    return made


@pytest.mark.skipif(shutil.which("find") is None, reason="no find here")
@many
@given(words=st.lists(st.sampled_from(FIND_PIECES), min_size=1, max_size=8))
def test_a_find_expression_that_is_read_changes_nothing(words: list[str], tree: Path, tmp_path: Path) -> None:
    command = shlex.join(["find", ".", *words])
    assume(classify(command).read_only)
    left = throwaway.run(tree, tmp_path / "copy", command)
    assert left.changed == (), command


@pytest.mark.skipif(shutil.which("tar") is None, reason="no tar here")
@many
@given(
    letters=st.text("tfvxczOCbIrkp", min_size=1, max_size=5),
    words=st.lists(
        st.sampled_from(("a.tar", "a.tgz", "src", "f.txt", "-", "20", "./x", "O", "-O", "out")), max_size=4
    ),
)
def test_a_tar_bundle_that_is_read_changes_nothing(
    letters: str, words: list[str], tree: Path, tmp_path: Path
) -> None:
    command = shlex.join(["tar", letters, *words])
    assume(classify(command).read_only)
    for tool in TARS:
        if shutil.which(tool[0]) is not None:
            left = throwaway.run(tree, tmp_path / tool[0], shlex.join([*tool, letters, *words]))
            assert left.changed == (), (tool, command)


UNDERSTOOD = [
    (language, script)
    for _, language, effects, script in rows()
    if language in ("sed", "awk") and "unknown" not in effects
]


@given(pair=st.tuples(st.sampled_from(UNDERSTOOD), st.sampled_from(UNDERSTOOD)))
def test_two_scripts_together_do_what_each_does(pair: tuple[tuple[str, str], tuple[str, str]]) -> None:
    (language, first), (other, second) = pair
    assume(language == other)
    both = effects_of(language, f"{first}\n{second}")
    assert both >= effects_of(language, first) | effects_of(language, second)


@given(script=st.lists(st.sampled_from(SED_PIECES), min_size=1, max_size=8).map("".join))
def test_a_sed_script_that_its_reader_refuses_is_no_read(script: str) -> None:
    assume("unknown" in effects_of("sed", script))
    assert not classify(shlex.join(["sed", "-e", script, "f"])).read_only


@given(program=awk_programs, end=st.sampled_from(("}", "(", '"', "{", "1 +", "[", "else", "/")))
def test_an_awk_program_that_its_reader_refuses_is_no_read(program: str, end: str) -> None:
    assume("unknown" in effects_of("awk", program + end))
    assert not classify(shlex.join(["awk", program + end, "f"])).read_only
