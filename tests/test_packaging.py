from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "sphinx_jaxdevice"
MODULES = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
DISTRIBUTIONS = {"yaml": "pyyaml", "myst_nb": "myst-nb", "jupyter_cache": "jupyter-cache", "jupyter_client": "jupyter-client"}
"""Names of distributions that differ from the names of their modules."""


def imported(paths: list[Path]) -> set[str]:
    """Return the distributions of other projects that modules import."""
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
    foreign = found - set(sys.stdlib_module_names) - {"sphinx_jaxdevice"}
    return {DISTRIBUTIONS.get(name, name) for name in foreign}


def declared(requirements: list[str]) -> set[str]:
    """Return the names of distributions in a list of requirements."""
    return {re.split(r"[<>=~!\[ ]", requirement)[0].lower() for requirement in requirements}


def test_dependencies_are_what_the_package_imports() -> None:
    """Each run-time dependency is imported and each import is a dependency; JAX and NumPyro are in the extra alone."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    needed, extra = declared(project["dependencies"]), declared(project["optional-dependencies"]["benchmark"])
    benchmark = PACKAGE / "benchmark"
    core = imported([PACKAGE / module for module in MODULES if benchmark not in (PACKAGE / module).parents])
    measuring = imported(list(benchmark.rglob("*.py")))

    assert not core & extra
    assert needed == core | (measuring - extra)
    assert extra <= measuring | {"matplotlib"}


def test_map_of_modules_says_what_the_modules_say() -> None:
    """CONTRIBUTING.md has a line for each module of the package, which is the first paragraph of its docstring."""
    mapped = re.findall(r"^\| `[\w/]+\.py` \|.*$", (REPOSITORY / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    lines = {module: ast.get_docstring(ast.parse((PACKAGE / module).read_text())) or "" for module in MODULES}
    expected = [f"| `{module}` | {' '.join(text.partition(chr(10) * 2)[0].split())} |" for module, text in lines.items()]

    assert sorted(set(expected) - set(mapped)) == []  # lines to add
    assert sorted(set(mapped) - set(expected)) == []  # lines to remove
