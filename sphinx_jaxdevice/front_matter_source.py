"""The front matter as text: where its keys stand, which stand twice, and whether it can be read at all.

Policies are made from parsed metadata, which has no lines; this module finds them. It takes any text and never raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import yaml

from .diagnostics import Diagnostic, Warn, WarningKind
from .keys import KEYS
from .stray_keys import BLOCKS
from .wording import listed

LARGEST = 256 * 1024
"""Characters of front matter that are looked at; a larger block is left to the host."""

_OUR_KEY = re.compile(rf"^[-? \t{{\[,'\"]*({'|'.join(KEYS)})['\"]?[ \t]*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageSource:
    """What the text of a page says about its front matter. Lines count from 1; all is empty for a notebook's JSON."""

    lines: Mapping[str, int] = field(default_factory=dict)
    """Lines of top-level keys, and of the keys in MyST-NB's and jupytext's blocks as `execution.timeout`."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Unquoted top-level values as written."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What is wrong with the text itself, as far as it concerns our keys."""


@lru_cache(maxsize=2)
def read_source(text: str, suffix: str) -> PageSource:
    """Return the positions in a page's source text. `suffix` is `.md`, `.ipynb` or another."""
    if suffix == ".ipynb":
        return PageSource(diagnostics=_in_first_cell(text))
    block = _block(text)
    if block is None:
        return PageSource()
    try:
        root = yaml.compose(block, yaml.SafeLoader)
        if not isinstance(root, yaml.MappingNode):
            return PageSource(diagnostics=_broken(block, "it is not a mapping of keys to values", 2))
        lines, texts, duplicates = _positions(root)
        return PageSource(lines, texts, duplicates + _unreadable(root, block))
    except Exception as error:  # noqa: BLE001 - besides its own errors, PyYAML lets ValueError, RecursionError and others through
        return PageSource(diagnostics=_broken(block, *_reason(error, block)))


def check_source(text: str, suffix: str, warn: Warn) -> None:
    """Warn about what is wrong with a page's front matter as text, where one of our keys is concerned.

    MyST-NB takes a page whose front matter can't be read for plain Markdown, so this is to be called for every page.
    """
    for diagnostic in read_source(text, suffix).diagnostics:
        warn(diagnostic)


def _block(text: str) -> str | None:
    """Return what stands between the lines of dashes at the top, or None. Without a closing line: up to the first empty one."""
    text = text.removeprefix("\ufeff")
    if not text.startswith("---"):
        return None
    _, *rest = text[: LARGEST + 1].splitlines()
    closing = next((number for number, line in enumerate(rest) if line.startswith(("---", "..."))), None)
    if closing is None and len(text) > LARGEST:
        return None
    if closing is None:
        closing = next((number for number, line in enumerate(rest) if not line.strip()), len(rest))
    block = "\n".join(line.rstrip() for line in rest[:closing]) + "\n"
    return block if len(block) <= LARGEST else None


def _positions(root: yaml.MappingNode) -> tuple[dict[str, int], dict[str, str], tuple[Diagnostic, ...]]:
    lines: dict[str, int] = {}
    texts: dict[str, str] = {}
    duplicates: list[Diagnostic] = []
    for name, line, value in _pairs(root):
        if name in lines and name in KEYS:
            told = f"{name} stands twice in the front matter, first on line {lines[name]}; the last one counts."
            duplicates.append(Diagnostic(WarningKind.DUPLICATE, told, line))
        lines[name] = line
        texts.pop(name, None)
        if isinstance(value, yaml.ScalarNode) and value.style is None and value.start_mark.line + 2 == line:
            texts[name] = value.value
        if name in BLOCKS and isinstance(value, yaml.MappingNode):
            lines.update({f"{name}.{inner}": inner_line for inner, inner_line, _ in _pairs(value)})
    return lines, texts, tuple(duplicates)


def _pairs(node: yaml.MappingNode) -> list[tuple[str, int, yaml.Node]]:
    """Return name, line in the page and value of each pair. The block starts on line 2, and YAML counts from 0."""
    return [(key.value, key.start_mark.line + 2, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]


def _unreadable(root: yaml.MappingNode, block: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostic about front matter that is well-formed YAML and yet can't be read, such as `!!python/object`."""
    if not _OUR_KEY.search(block):
        return ()
    error = _construction_error(root)
    if error is None:
        return ()
    reason, line = _reason(error, block)
    if not isinstance(error, yaml.MarkedYAMLError):
        line = next((key.start_mark.line + 2 for key, value in root.value if _construction_error(value)), line)
    return _broken(block, reason, line)


def _construction_error(node: yaml.Node) -> Exception | None:
    """Return what a node's values can't be made for, or None. Only plain data is made, as MyST-NB does."""
    try:
        yaml.constructor.SafeConstructor().construct_document(node)
    except Exception as error:  # noqa: BLE001 - constructors of numbers and dates raise ValueError and others
        return error
    return None


def _reason(error: Exception, block: str) -> tuple[str, int]:
    """Return what YAML says is wrong, and on which line of the page."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        return error.problem or "it can't be read", mark.line + 2 if mark else 2
    if isinstance(error, yaml.reader.ReaderError):
        return "it holds a character that YAML forbids", block.count("\n", 0, error.position) + 2
    if isinstance(error, RecursionError):
        return "it is nested too deeply", 2
    return str(error).partition(";")[0][:120] or type(error).__name__, 2


def _broken(block: str, reason: str, line: int) -> tuple[Diagnostic, ...]:
    """Return the diagnostic about front matter that can't be read, where it holds a key of ours; other pages are the host's."""
    found = dict.fromkeys(_OUR_KEY.findall(block))
    if not found:
        return ()
    printable = "".join(char if char.isprintable() else "?" for char in reason)
    told = f"the front matter can't be read as YAML ({printable}), so its keys have no effect, {listed(found)} among them."
    return (Diagnostic(WarningKind.FRONT_MATTER, told, line),)


def _in_first_cell(text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostic about front matter in the first cell of a notebook, where it is text like any other."""
    if not any(name in text for name in KEYS):
        return ()
    try:
        cell = json.loads(text)["cells"][0]
        source = cell["source"]
        source = "".join(source) if isinstance(source, list) else source
        block = _block(source.lstrip()) if cell["cell_type"] in {"raw", "markdown"} else None
    except Exception:  # noqa: BLE001 - a file that is not a notebook is for the host to report
        return ()
    found = dict.fromkeys(_OUR_KEY.findall(block or ""))
    if not found:
        return ()
    told = (
        f"{listed(found)} in the notebook's first cell has no effect: in an .ipynb it belongs into the notebook's metadata "
        "(in JupyterLab: property inspector, Advanced Tools, Notebook Metadata)."
    )
    return (Diagnostic(WarningKind.KEY, told),)
