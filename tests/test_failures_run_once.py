from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .books import TinyBook

pytestmark = pytest.mark.slow

FAIL = "print('before')\n1 / 0"


@pytest.fixture
def book(tmp_path: Path) -> TinyBook:
    """Return a book with a good and a failing lecture."""
    book = TinyBook(tmp_path)
    book.lecture("good", "print('fine')")
    book.lecture("bad", FAIL, "print('never')")
    return book


def test_second_builder_with_its_own_doctrees_shows_the_failure_without_running_it(book: TinyBook) -> None:
    """A builder that reads a failed page again shows the same partial page, warnings and report file, and runs nothing."""
    first = book.build("html", "-W", "--keep-going")
    second = book.build("dirhtml", "-W", "--keep-going")

    assert book.runs("bad") == 1
    assert (first.status, second.status) == (1, 1)
    pages = [(first.output / "bad.html").read_text(), (second.output / "bad/index.html").read_text()]
    for page in pages:
        assert "before" in page
        assert "ZeroDivisionError" in page
        assert "never" in page  # its code
    assert [w.replace("dirhtml", "html") for w in second.warnings] == first.warnings
    reports = [(built.output / "reports" / "bad.err.log").read_text() for built in (first, second)]
    assert reports[0] == reports[1]
    assert "ZeroDivisionError" in reports[0]


def test_builder_that_does_not_read_the_page_again_warns_all_the_same(book: TinyBook) -> None:
    """With doctrees shared, as under Jupyter Book, the second builder warns, writes its report file and exits 1."""
    first = book.build("html", "-W", "--keep-going", doctrees="doctrees")
    second = book.build("text", "-W", "--keep-going", doctrees="doctrees")

    assert book.runs("bad") == 1
    assert (first.status, second.status) == (1, 1)
    assert len(second.warnings_of("mystnb.exec")) == len(first.warnings_of("mystnb.exec")) == 2
    assert (second.output / "reports" / "bad.err.log").read_text() == (first.output / "reports" / "bad.err.log").read_text()
    assert "JAXDEVICE_RETRY_FAILED=1" in second.text


def test_failed_page_of_mode_force_is_warned_about_and_not_run_again(book: TinyBook) -> None:
    """Where nothing is cached, a failed page that Sphinx does not read again is not run again, and every builder warns."""
    book.config["nb_execution_mode"] = "force"

    first = book.build("html", "-W", "--keep-going", doctrees="doctrees")
    second = book.build("text", "-W", "--keep-going", doctrees="doctrees")

    assert book.runs("bad") == 1
    assert (first.status, second.status) == (1, 1)
    assert not (book.state / "failures").exists()


def test_suppressed_warnings_of_failures_fail_no_build(book: TinyBook) -> None:
    """Who suppresses `mystnb.exec` gets exit status 0 under -W from the first builder and from the next."""
    book.config["suppress_warnings"] = ["mystnb.exec"]

    built = [book.build(builder, "-W", "--keep-going", doctrees="doctrees") for builder in ("html", "text")]

    assert [one.status for one in built] == [0, 0]


def test_older_environment_does_not_undo_a_newer_report(book: TinyBook) -> None:
    """A builder over page data of its own, which reads nothing, leaves what another builder has found out since."""
    book.build("html")
    book.build("text")

    book.build("html")

    assert book.report()["good"]["builder"] == "text"
    assert book.report()["bad"]["builder"] == "html"


def test_success_alone_exits_zero(tmp_path: Path) -> None:
    """A book whose lectures all succeed exits 0 under -n -W --keep-going."""
    book = TinyBook(tmp_path)
    book.lecture("good", "print('fine')")

    built = book.build("html", "-n", "-W", "--keep-going")

    assert built.status == 0, built.text


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("the code", lambda book: book.lecture("bad", FAIL + " ")),
        ("the device", lambda book: book.lecture("bad", FAIL, "print('never')", front_matter="jax-device: cpu")),
        ("a limit", lambda book: book.lecture("bad", FAIL, "print('never')", front_matter="jax-timeout: 40")),
        ("allow_errors", lambda book: book.config.update(nb_execution_allow_errors=True)),
        ("a data file", lambda book: book.write("data.csv", "1,2\n")),
        ("a data file in a subfolder", lambda book: book.write("data/deep.csv", "1,2\n")),
    ],
)
def test_failure_runs_again_after_a_change(book: TinyBook, name: str, change: object) -> None:
    """A change of anything in the key runs the failed lecture again."""
    book.build("html", doctrees="doctrees")
    change(book)  # type: ignore[operator]

    book.build("dirhtml")

    assert book.runs("bad") == 2, name


def test_changed_data_file_runs_a_page_again_that_sphinx_would_not_read(book: TinyBook) -> None:
    """Over kept doctrees, mending a data file is enough to run the failed lecture again."""
    book.build("html", doctrees="doctrees")
    book.write("data.csv", "1,2\n")

    built = book.build("html", doctrees="doctrees")

    assert book.runs("bad") == 2
    assert book.runs("good") == 1
    assert "changed since its last build: files" in built.text or book.report()["bad"]["reason"].endswith("files")


@pytest.mark.parametrize("doctrees", [None, "doctrees"])
def test_retry_runs_failed_lectures_again(book: TinyBook, doctrees: str | None) -> None:
    """A retry asked for by the environment, by -D or by configuration runs failed lectures again, and only those."""
    book.build("html", doctrees=doctrees)
    book.build("html", "-E", doctrees=doctrees)
    assert book.runs("bad") == 1

    book.build("html", doctrees=doctrees, env={"JAXDEVICE_RETRY_FAILED": "1"})
    book.build("html", "-D", "jaxdevice_retry_failed=yes", doctrees=doctrees)

    assert book.runs("bad") == 3
    assert book.runs("good") == 1


def test_failure_of_another_ci_run_is_not_reused(book: TinyBook) -> None:
    """In another CI run, or a second attempt of the same one, the failed lecture is run again."""
    first = {"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1"}
    book.build("html", env=first)
    book.build("text", env=first)
    assert book.runs("bad") == 1

    book.build("html", env={**first, "GITHUB_RUN_ATTEMPT": "2"})
    book.build("html", env={"CI_PIPELINE_ID": "7"})

    assert book.runs("bad") == 3


def test_old_failure_is_not_reused(book: TinyBook) -> None:
    """A failure older than jaxdevice_failure_ttl is run again."""
    book.build("html")
    (stored,) = (book.state / "failures").glob("*.json")
    data = json.loads(stored.read_text())
    data["stored_at"] -= 7200
    stored.write_text(json.dumps(data))
    book.build("text")
    assert book.runs("bad") == 1

    book.build("text", "-E", "-D", "jaxdevice_failure_ttl=1h")

    assert book.runs("bad") == 2


def test_success_under_the_same_key_removes_the_failure(tmp_path: Path) -> None:
    """A lecture that succeeds under the key of a stored failure leaves no failure behind."""
    book = TinyBook(tmp_path)
    flag = tmp_path / "flag"
    book.lecture("flaky", f"import os\nassert os.path.exists({str(flag)!r})")
    book.build("html")
    assert len(list((book.state / "failures").glob("*.json"))) == 1
    flag.touch()

    built = book.build("html", "-W", "--keep-going", env={"JAXDEVICE_RETRY_FAILED": "1"})

    assert built.status == 0, built.text
    assert list((book.state / "failures").glob("*.json")) == []


def test_failure_goes_before_the_success_of_the_same_code_elsewhere(tmp_path: Path) -> None:
    """Two pages with equal code in two folders, of which one fails: no builder passes green over it, and each runs once."""
    book = TinyBook(tmp_path)
    log = book.counts / "{here}"
    code = f"import os\nhere = os.path.basename(os.getcwd())\nopen(f{str(log)!r}, 'a').write('run\\n')\nassert here != 'sub'"
    page = f"---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n# Page\n\n```{{code-cell}}\n{code}\n```\n"
    book.write("twin.md", page)
    book.write("sub/twin.md", page)

    for builder in ("html", "dirhtml", "text"):
        built = book.build(builder)
        assert len(built.warnings_of("mystnb.exec")) == 2, built.text

    assert book.runs("sub") == 1
    assert book.report()["twin"]["outcome"] == "succeeded"
    assert book.report()["sub/twin"]["outcome"] == "failed"


def test_fresh_checkout_of_the_same_files_keeps_failures(book: TinyBook) -> None:
    """New modification times alone, as a checkout in another CI job gives them, do not run a failed lecture again."""
    data = book.write("data.csv", "1,2\n")
    book.build("html")
    os.utime(data, (1_000_000_000, 1_000_000_000))
    os.utime(book.source / "bad.md", (1_000_000_000, 1_000_000_000))

    book.build("text")

    assert book.runs("bad") == 1


def test_file_written_by_a_lecture_does_not_run_a_failure_again(tmp_path: Path) -> None:
    """What a failing lecture and its neighbours write into their folder changes no key."""
    book = TinyBook(tmp_path)
    book.lecture("a_bad", "open('a.csv', 'w').write('1')\n1 / 0")
    book.lecture("b_good", "open('b.csv', 'w').write('2')")

    for builder in ("html", "dirhtml", "text"):
        book.build(builder)

    assert book.runs("a_bad") == 1


def test_failures_off_gives_back_the_hosts_behaviour(book: TinyBook) -> None:
    """With jaxdevice_cache_failures off, each builder that reads the page runs it."""
    book.config["jaxdevice_cache_failures"] = False

    book.build("html")
    book.build("text")

    assert book.runs("bad") == 2


def test_on_failure_error_fails_every_builder_without_w(book: TinyBook) -> None:
    """With jaxdevice_on_failure 'error' every builder exits 1 and has written its pages."""
    book.config["jaxdevice_on_failure"] = "error"

    first = book.build("html", doctrees="doctrees")
    second = book.build("text", doctrees="doctrees")

    assert (first.status, second.status) == (1, 1)
    assert (second.output / "bad.txt").exists()


def test_warnings_alone_do_not_fail_a_build(book: TinyBook) -> None:
    """Without -W a failed lecture is a warning and the build exits 0, as in plain MyST-NB."""
    assert book.build("html").status == 0


def test_raise_on_error_stops_every_builder_and_runs_the_lecture_once(book: TinyBook) -> None:
    """With MyST-NB's raise_on_error the build stops, in the next builder too, which runs nothing."""
    book.config["nb_execution_raise_on_error"] = True

    first = book.build("html")
    second = book.build("text")

    assert book.runs("bad") == 1
    assert first.status == second.status == 2
    assert book.report()["bad"]["outcome"] == "failed"


def test_warning_as_error_without_keep_going_runs_the_lecture_once(book: TinyBook) -> None:
    """With -W alone, where Sphinx drops its environment, the next builder shows the stored failure."""
    first = book.build("html", "-W")
    second = book.build("html", "-W")

    assert book.runs("bad") == 1
    assert first.status != 0
    assert second.status != 0


def test_failure_before_the_first_cell_is_never_stored(tmp_path: Path) -> None:
    """An unknown kernel fails its page with the names of the kernels there are, and is looked for again."""
    book = TinyBook(tmp_path)
    book.lecture("unknown", "print(1)", kernel="no-such-kernel")
    book.lecture("good", "print('fine')")

    built = book.build("html")

    assert built.status == 0
    assert book.runs("good") == 1
    assert "no-such-kernel" in built.page("unknown")
    assert "python3" in "".join(built.warnings_of("mystnb.exec"))
    assert not list((book.state / "failures").glob("*.json"))


def test_moved_book_keeps_its_failures(book: TinyBook, tmp_path: Path) -> None:
    """A book and its build folder, restored under another path, show the stored failure."""
    book.build("html")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("book", "_build"):
        (tmp_path / name).rename(elsewhere / name)
    moved = TinyBook(elsewhere)

    moved.build("text")

    assert book.runs("bad") == 1
    assert moved.report()["bad"]["source"] == "reused"
