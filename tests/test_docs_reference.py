from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from sphinx_jaxdevice.config import option_specs
from sphinx_jaxdevice.diagnostics import WarningKind
from sphinx_jaxdevice.keys import KEYS
from sphinx_jaxdevice.records import Record

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
PAGES = ("options", "front-matter", "warnings", "records")

Build = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return a function that builds the manual's own reference pages as text, after a line of Python in `conf.py`."""
    source = tmp_path / "source"
    source.mkdir()
    for page in PAGES:
        (source / f"{page}.md").write_text((DOCS / "reference" / f"{page}.md").read_text())
    (source / "index.md").write_text("# Reference\n\n```{toctree}\n" + "\n".join(PAGES) + "\n```\n")

    def run(change: str) -> subprocess.CompletedProcess[str]:
        (source / "conf.py").write_text(
            f"import sys\nsys.path.insert(0, {str(DOCS)!r})\nextensions = ['myst_parser', 'reference_tables']\n{change}\n"
        )
        command = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-b", "text", str(source), str(tmp_path / "out")]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    return run


@pytest.fixture
def reference(build: Build, tmp_path: Path) -> Callable[[str], str]:
    """Return a function that gives the text of a built reference page."""
    done = build("")
    assert done.returncode == 0, done.stderr

    return lambda page: " ".join((tmp_path / "out" / f"{page}.txt").read_text().split())


def plain(sentence: str) -> str:
    """Return a declared sentence as it reads on a page: without back-quotes, which the text builder turns into quotes."""
    return re.sub(r"`([^`]*)`", r'"\1"', sentence)


def test_every_book_option_is_printed_with_its_meaning(reference: Callable[[str], str]) -> None:
    """The reference lists each option that Sphinx registers, with the sentence from its declaration."""
    text = reference("options")

    assert [spec.name for spec in option_specs() if spec.name not in text] == []
    assert [spec.help for spec in option_specs() if plain(spec.help) not in text] == []


def test_every_front_matter_key_is_printed_with_what_it_accepts(reference: Callable[[str], str]) -> None:
    """The reference lists each key with its meaning and the accepted values."""
    text = reference("front-matter")

    assert [key.name for key in KEYS.values() if key.name not in text] == []
    assert [key.about for key in KEYS.values() if key.about not in text] == []
    assert [key.accepted for key in KEYS.values() if key.accepted not in text] == []


def test_every_warning_is_printed_with_its_sentence(reference: Callable[[str], str]) -> None:
    """The reference lists each kind of warning by the name that suppress_warnings takes."""
    text = reference("warnings")

    assert [kind for kind in WarningKind if f"jaxdevice.{kind.subtype}" not in text] == []
    assert [kind for kind in WarningKind if kind.sentence not in text] == []


def test_every_record_field_is_printed(reference: Callable[[str], str], tmp_path: Path) -> None:
    """The reference lists each field of a record of report.json."""
    text = reference("records")

    assert [entry.name for entry in fields(Record) if f'"{entry.name}"' not in text] == []
    assert (tmp_path / "out" / "records.txt").read_text().count("\n+-") >= len(fields(Record))


UNDOCUMENTED = {
    "STATE has no text": "from sphinx_jaxdevice.diagnostics import WarningKind\nWarningKind.STATE.sentence = ''",
    "Record.undocumented has no text": """import dataclasses, sphinx_jaxdevice.records as r
r.Record = dataclasses.make_dataclass('Record', [('undocumented', 'str')])""",
    "jaxdevice_undocumented has no text": """import dataclasses, sphinx_jaxdevice.config as c
c.BookOptions = dataclasses.make_dataclass('BookOptions', [('undocumented', bool)])""",
}


@pytest.mark.parametrize("told", UNDOCUMENTED)
def test_declaration_without_its_text_fails_the_build(build: Build, told: str) -> None:
    """A warning, record field or option that is declared without its text ends the build with a message that names it."""
    done = build(UNDOCUMENTED[told])

    assert done.returncode != 0
    assert told in done.stderr


def test_name_of_an_option_that_does_not_exist_fails_the_build(build: Build, tmp_path: Path) -> None:
    """A page that names an unknown option, key or warning fails under -n -W."""
    unknown = "{confval}`jaxdevice_no_such` {jax-key}`jax-no-such` {jax-warning}`jaxdevice.no_such`"
    (tmp_path / "source" / "extra.md").write_text(f"---\norphan: true\n---\n\n# Extra\n\n{unknown}\n")

    done = build("")

    assert done.returncode == 1
    assert all(name in done.stderr for name in ("jaxdevice_no_such", "jax-no-such", "jaxdevice.no_such"))


def test_manual_names_only_what_exists() -> None:
    """Every jaxdevice_* option and jax-* key that a page, the README or the changelog writes is declared."""
    known = {spec.name for spec in option_specs()} | set(KEYS)
    pages = [*DOCS.rglob("*.md"), *REPOSITORY.glob("*.md")]
    found = {
        name
        for page in pages
        if "_build" not in page.parts
        for name in re.findall(r"\bjaxdevice_[a-z_]+|(?<![-\w{/])jax-(?:device|timeout|lecture)[a-z-]*", page.read_text())
    }

    assert found - known == set()
    assert len(found) > len(known) / 2


def nox_sessions() -> set[str]:
    """Return the names of the nox sessions, as functions of the noxfile."""
    noxfile = (REPOSITORY / "noxfile.py").read_text()
    return set(re.findall(r"^@nox\.session[^\n]*\n(?:@[^\n]*\n)*def (\w+)\(", noxfile, flags=re.MULTILINE))


def test_commands_of_the_readme_name_sessions_that_exist() -> None:
    """The README gives the two commands in full, and each session that any page names exists."""
    readme = (REPOSITORY / "README.md").read_text()
    named = {
        name
        for page in (*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md"), REPOSITORY / ".github/workflows/ci.yml")
        for name in re.findall(r"nox -s \"?([a-z_]+)", page.read_text())
    }

    assert 'python -m pip install "nox[uv]" && nox -s book\n' in readme
    assert 'python -m pip install "nox[uv]" && nox -s tests\n' in readme
    assert named - nox_sessions() == set()


def test_json_types_of_the_reference_are_those_of_a_report() -> None:
    """Each type that the reference knows for a record field is in use, so that the list of types cannot rot."""
    sys.path.insert(0, str(DOCS))
    try:
        from reference_tables import JSON_TYPES
    finally:
        sys.path.remove(str(DOCS))

    used = {str(entry.type).removesuffix(" | None") for entry in fields(Record)}

    assert json.dumps(sorted(used)) == json.dumps(sorted(JSON_TYPES))
