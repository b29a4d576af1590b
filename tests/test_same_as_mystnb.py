"""The same book, built by MyST-NB alone and with the extension: pages must be equal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from .books import Built, TinyBook

pytestmark = pytest.mark.slow

MODES = ["cache", "force", "auto", "inline", "off"]


def _md(*cells: str, front_matter: str = "") -> str:
    body = "\n".join(f"```{{code-cell}}\n{cell}\n```\n" for cell in cells)
    return f"---\nfile_format: mystnb\nkernelspec:\n  name: python3\n{front_matter}---\n\n# Page\n\n{body}"


def _notebook(*cells: Any, **metadata: Any) -> str:
    notebook = nbformat.v4.new_notebook(cells=list(cells))
    notebook.metadata.update({"kernelspec": {"name": "python3", "display_name": "Python 3"}, **metadata})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return str(nbformat.writes(notebook))


def _code(source: str, *outputs: str, tags: tuple[str, ...] = ()) -> Any:
    stored = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in outputs]
    metadata = {"tags": list(tags)} if tags else {}
    return nbformat.v4.new_code_cell(source, outputs=stored, execution_count=1 if stored else None, metadata=metadata)


PAGES = {
    "plain.md": _md("x = 1\nprint('out')", "x + 1", "import sys\nprint('err', file=sys.stderr)"),
    "sub folder/Überblick über α.md": _md("import os\nprint(os.path.basename(os.getcwd()))"),
    "stored outputs.ipynb": _notebook(_code("print('new')", "old\n"), _code("1 + 1", "older\n")),
    "some outputs.ipynb": _notebook(_code("print('new')", "old\n"), _code("1 + 1")),
    "raises.md": _md(":tags: [raises-exception]\n1 / 0", "print('after')"),
    "skips.ipynb": _notebook(_code("print('skipped')", "kept\n", tags=("skip-execution",)), _code("print('ran')")),
    "allowed.md": _md("1 / 0", "print('after')", front_matter="mystnb:\n  execution_allow_errors: true\n"),
    "allowed_too.md": _md("1 / 0", "print('after')", front_matter="execution:\n  allow_errors: true\n"),
    "temp.md": _md("import os\nprint(os.listdir('.'))", front_matter="mystnb:\n  execution_in_temp: true\n"),
    "own_mode.md": _md("print('never')", front_matter="mystnb:\n  execution_mode: 'off'\n"),
    "excluded.md": _md("print('never')", front_matter="jax-device: cpu\n"),
    "glued.md": _md("from myst_nb import glue\nglue('answer', 42, display=False)") + "\nThe answer is {glue}`answer`.\n",
    "empty.md": _md(),
    "blank_cell.md": _md("", "  ", "print('x')"),
    "figure.md": _md("from IPython.display import HTML, display\ndisplay(HTML('<b>bold</b>'))\ndisplay('text')"),
    "updates.md": _md("from IPython.display import display\nh = display('a', display_id='d')\nh.update('b')"),
    "no_header.md": "---\njax-device: cpu\n---\n\n# Plain Markdown\n\nText.\n",
    "carriage.md": _md("import sys\nsys.stdout.write('10%\\r20%\\n')"),
    "bash_kernel.md": "---\nfile_format: mystnb\nkernelspec:\n  name: bash\n---\n\n# Page\n\n```{code-cell}\necho $((1 + 1))\n```\n",
}


def _build(root: Path, extensions: tuple[str, ...], mode: str, kernels: Path, front_matter: str) -> Built:
    config = {"nb_execution_mode": mode, "nb_execution_excludepatterns": ["excluded*"], "html_sourcelink_suffix": ""}
    book = TinyBook(root, config=config, extensions=extensions)
    for name, text in PAGES.items():
        book.write(name, text.replace("file_format: mystnb\n", f"file_format: mystnb\n{front_matter}"))
    return book.build("html", env={"JUPYTER_PATH": str(kernels)})


def _pages(built: Built, root: Path) -> dict[str, str]:
    found = {}
    for path in sorted(built.output.rglob("*.html")):
        text = path.read_text().replace(str(root), "ROOT")
        # Object addresses and versions of assets differ from run to run.
        found[path.relative_to(built.output).as_posix()] = re.sub(r"0x[0-9a-f]{8,}|\?v=[0-9a-f]+|ipykernel_\d+", "", text)
    return found


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for JUPYTER_PATH that offers a bash kernel."""
    folder = tmp_path_factory.mktemp("jupyter")
    kernel = folder / "kernels" / "bash"
    kernel.mkdir(parents=True)
    spec = '{"argv": ["python", "-m", "bash_kernel", "-f", "{connection_file}"], "display_name": "Bash", "language": "bash"}'
    (kernel / "kernel.json").write_text(spec)
    return folder


@pytest.mark.parametrize("mode", MODES)
def test_pages_equal_those_of_mystnb_alone(tmp_path: Path, kernels: Path, mode: str) -> None:
    """Every page of a book of special cases has the same HTML with and without the extension."""
    pages, warnings = {}, {}
    for name, extensions in (("theirs", ("myst_nb",)), ("ours", ("myst_nb", "sphinx_jaxdevice"))):
        built = _build(tmp_path / name, extensions, mode, kernels, "")
        assert built.status == 0, built.text
        pages[name] = _pages(built, tmp_path / name)
        warnings[name] = [line.replace(str(tmp_path / name), "ROOT") for line in built.warnings]

    assert pages["ours"].keys() == pages["theirs"].keys()
    for page, html in pages["theirs"].items():
        if mode == "inline" and page == "allowed_too.html":
            continue  # MyST-NB alone does not look at `execution: allow_errors` in this mode; with the extension it counts
        assert pages["ours"][page] == html, page
    if mode != "inline":
        assert warnings["ours"] == warnings["theirs"]
