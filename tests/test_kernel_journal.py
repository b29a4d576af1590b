from __future__ import annotations

import json
from pathlib import Path

import pytest

from sphinx_jaxdevice import kernel_journal


def _journal(tmp_path: Path, *entries: object) -> kernel_journal.Journal:
    path = tmp_path / "journal"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    return kernel_journal.read(path)


def test_nested_spans_count_once() -> None:
    """Spans that overlap or lie in each other have the length of their union."""
    assert kernel_journal.union_length([(0, 10), (2, 3), (9, 12), (20, 21)]) == 13


def test_compile_time_is_cut_to_the_cell(tmp_path: Path) -> None:
    """A span that reaches over the ends of a cell counts as far as it lies in it."""
    journal = _journal(tmp_path, {"loaded": 1.0}, {"span": [1.0, 4.0]})

    assert journal.compile_seconds(2.0, 3.5) == pytest.approx(1.5)
    assert journal.compile_seconds(5.0, 6.0) == 0


def test_cell_before_jax_has_no_compile_time(tmp_path: Path) -> None:
    """Before JAX was loaded there is nothing to say."""
    assert _journal(tmp_path, {"loaded": 10.0}).compile_seconds(1.0, 2.0) is None
    assert _journal(tmp_path).compile_seconds(1.0, 2.0) is None


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    """A line that was cut off when the kernel was killed costs itself."""
    path = tmp_path / "journal"
    path.write_text('{"loaded": 1.0}\n[1]\n"x"\n{"span": "x"}\n{"span": [1.0, 2.0]}\n{"span": [3.0, ')

    assert kernel_journal.read(path).compile_seconds(0.0, 5.0) == 1


def test_missing_journal_says_nothing(tmp_path: Path) -> None:
    """A kernel on another machine leaves no journal here."""
    assert kernel_journal.read(tmp_path / "none") == kernel_journal.Journal()


def test_platform_that_worked_is_the_one_used(tmp_path: Path) -> None:
    """Of the backends that were started the one with programs and arrays counts, not the default."""
    use = {
        "version": "1",
        "x64": True,
        "kinds": {"cpu": "cpu", "cuda": "H200"},
        "work": {"cpu": 5, "cuda": 0},
        "default": "cuda",
    }

    jax = _journal(tmp_path, {"use": use}).jax

    assert jax is not None
    assert (jax.platform, jax.device_kind, jax.other_platforms) == ("cpu", "cpu", ("cuda",))
