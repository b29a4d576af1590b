"""Tiny books for tests: write lectures, build them with the real Sphinx or Jupyter Book, look at what came out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from .build_server import BuildServer

HEADER = "---\nfile_format: mystnb\nkernelspec:\n  name: {kernel}\n  display_name: Test\n{front_matter}---\n"
CI_NAMES = ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "CI_PIPELINE_ID", "BUILD_ID", "JAXDEVICE_RETRY_FAILED", "JAX_PLATFORMS")


@dataclass(frozen=True)
class Built:
    """One build: exit status, all it printed, and the output folder."""

    status: int
    text: str
    output: Path

    @property
    def warnings(self) -> list[str]:
        """Return the lines that hold a warning of Sphinx."""
        # ipykernel writes a line of its own with that word for every kernel; it names no file and no kind.
        plain = re.sub(r"\x1b\[[0-9;]*m", "", self.text)
        return [line for line in plain.splitlines() if "WARNING:" in line]

    def warnings_of(self, kind: str) -> list[str]:
        """Return the warnings of one kind, such as `jaxdevice.value` or `mystnb.exec`."""
        return [line for line in self.warnings if f"[{kind}]" in line]

    def page(self, document: str) -> str:
        """Return the HTML of a page."""
        return (self.output / f"{document}.html").read_text(encoding="utf8")


@dataclass
class TinyBook:
    """A book in a folder, built by plain Sphinx with MyST-NB."""

    root: Path
    config: dict[str, Any] = field(default_factory=dict)
    extensions: tuple[str, ...] = ("myst_nb", "sphinx_jaxdevice")
    warm: bool = True
    """Whether builds may be forks of the warm process, which makes one at a time."""
    server: ClassVar[BuildServer | None] = None
    """Builds in forks of a warm process; None starts a new interpreter for each build, as measurements must."""

    def __post_init__(self) -> None:
        """Make the folders and an index that lists every page."""
        self.source.mkdir(parents=True, exist_ok=True)
        self.counts.mkdir(exist_ok=True)
        self.write("index.md", "# Book\n\n```{toctree}\n:glob:\n\n**\n```\n")

    @property
    def source(self) -> Path:
        return self.root / "book"

    @property
    def counts(self) -> Path:
        """Return the folder, outside the book, in which each run of a lecture leaves a line."""
        return self.root / "counts"

    @property
    def build_folder(self) -> Path:
        return self.root / "_build"

    @property
    def state(self) -> Path:
        return self.build_folder / "jaxdevice"

    def write(self, name: str, text: str) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")
        return path

    def lecture(self, document: str, *cells: str, front_matter: str = "", kernel: str = "python3") -> Path:
        """Write a Markdown lecture whose first cell counts its runs. A cell may begin with `:key: value` lines."""
        count = f"with open({str(self.counts / document.replace('/', '-'))!r}, 'a') as f: f.write('run\\n')"
        first = [count] if kernel == "python3" else []
        body = "\n".join(f"```{{code-cell}}\n{cell}\n```\n" for cell in (*first, *cells))
        if front_matter and not front_matter.endswith("\n"):
            front_matter += "\n"
        header = HEADER.format(kernel=kernel, front_matter=front_matter)
        return self.write(f"{document}.md", f"{header}\n# {document}\n\n{body}")

    def runs(self, document: str) -> int:
        """Return how many times a lecture has been run."""
        path = self.counts / document.replace("/", "-")
        return len(path.read_text().splitlines()) if path.exists() else 0

    def build(
        self, builder: str = "html", *arguments: str, env: Mapping[str, str] | None = None, doctrees: str | None = None
    ) -> Built:
        """Build with `sphinx-build`. Each builder has its own doctrees unless `doctrees` names a folder."""
        output = self.build_folder / builder
        options = ["-d", str(self.build_folder / doctrees)] if doctrees else []
        words = ["-b", builder, "-c", str(self._conf()), *options, *arguments, str(self.source), str(output)]
        if self.server is None or not self.warm:
            return self._run([sys.executable, "-m", "sphinx", *words], output, env)
        log = self.root / f"{uuid.uuid4().hex}.log"
        status = self.server.build(words, self.root, self.environment(env), log)
        return Built(status, log.read_text(encoding="utf8", errors="replace"), output)

    def _conf(self) -> Path:
        folder = self.root / "conf"
        folder.mkdir(exist_ok=True)
        values = {
            "extensions": list(self.extensions),
            "nb_execution_mode": "cache",
            "show_warning_types": True,
            "html_theme": "basic",
            **self.config,
        }
        text = "".join(f"{name} = {value!r}\n" for name, value in values.items())
        path = folder / "conf.py"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        return folder

    @staticmethod
    def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a build: this process's without what would change results, plus `env`."""
        kept = {name: value for name, value in os.environ.items() if name not in CI_NAMES}
        return {**kept, "PYDEVD_DISABLE_FILE_VALIDATION": "1", "NO_COLOR": "1", **(env or {})}

    def _run(self, command: list[str], output: Path, env: Mapping[str, str] | None) -> Built:
        done = subprocess.run(
            command,
            env=self.environment(env),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=200,
        )
        return Built(done.returncode, done.stdout, output)

    def report(self) -> dict[str, dict[str, Any]]:
        """Return the records of the report by document."""
        data = json.loads((self.state / "report.json").read_text())
        return {record["document"]: record for record in data["lectures"]}


def kernels_of(marker: str) -> list[int]:
    """Return the processes, kernels or not, whose environment holds `marker`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker.encode() in environment and state != "Z":
            found.append(int(folder.name))
    return found


def wait_until_gone(marker: str, seconds: float) -> list[int]:
    """Wait until no process holds `marker` in its environment, for at most `seconds`, and return those that are left."""
    end = time.monotonic() + seconds
    while (left := kernels_of(marker)) and time.monotonic() < end:
        time.sleep(0.1)
    return left
