from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from .books import TinyBook

pytestmark = pytest.mark.slow

SHOW = "import os\nprint('platforms:', os.environ.get('JAX_PLATFORMS'))"
MODES = ["cache", "force", "auto", "inline"]


@pytest.mark.parametrize("mode", MODES)
def test_cpu_pin_is_in_the_kernel_before_any_code_in_every_mode(tmp_path: Path, mode: str) -> None:
    """The kernel of a pinned lecture starts with JAX_PLATFORMS=cpu, whatever the execution mode; others start without it."""
    book = TinyBook(tmp_path, config={"nb_execution_mode": mode})
    book.lecture("pinned", SHOW, front_matter="jax-device: cpu")
    book.lecture("free", SHOW)

    built = book.build("text", "-W", "--keep-going")

    assert built.status == 0, built.text
    assert "platforms: cpu" in (built.output / "pinned.txt").read_text()
    assert "platforms: None" in (built.output / "free.txt").read_text()
    assert book.report()["pinned"]["device_asked"] == "cpu"


def test_pin_in_notebook_metadata(tmp_path: Path) -> None:
    """The metadata of an .ipynb pins as front matter does."""
    book = TinyBook(tmp_path)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SHOW)])
    notebook.metadata.update({"jax-device": "cpu", "kernelspec": {"name": "python3", "display_name": "Python 3"}})
    book.write("pinned.ipynb", nbformat.writes(notebook))

    built = book.build("text")

    assert "platforms: cpu" in (built.output / "pinned.txt").read_text()


def test_book_pins_by_pattern_and_front_matter_wins(tmp_path: Path) -> None:
    """jaxdevice_lectures pins lectures by pattern; a lecture's own front matter wins over it."""
    rules = {"mccall_*": {"jax-device": "cpu", "jax-timeout": "10m"}}
    book = TinyBook(tmp_path, config={"jaxdevice_lectures": rules})
    book.lecture("search/mccall_model", SHOW)
    book.lecture("search/mccall_free", SHOW, front_matter="jax-device: auto")

    built = book.build("text")

    assert "platforms: cpu" in (built.output / "search/mccall_model.txt").read_text()
    assert "platforms: None" in (built.output / "search/mccall_free.txt").read_text()
    record = book.report()["search/mccall_model"]
    assert record["cell_limit"] == 600
    assert "mccall_*" in record["device_origin"]


def test_default_device_of_the_book(tmp_path: Path) -> None:
    """jaxdevice_default_device, also given with -D, is the device of lectures that name none."""
    book = TinyBook(tmp_path)
    book.lecture("free", SHOW)

    built = book.build("text", "-D", "jaxdevice_default_device=cpu")

    assert "platforms: cpu" in (built.output / "free.txt").read_text()


def test_pin_adds_nothing_to_code_outputs_or_download(tmp_path: Path) -> None:
    """The notebook for download of a pinned lecture equals the one that MyST-NB alone makes of it."""
    downloads = []
    for name, extensions in (("ours", ("myst_nb", "sphinx_jaxdevice")), ("theirs", ("myst_nb",))):
        book = TinyBook(tmp_path / name, extensions=extensions)
        (tmp_path / "same").mkdir(exist_ok=True)
        book.write(
            "lecture.md",
            "---\nfile_format: mystnb\nkernelspec:\n  name: python3\njax-device: cpu\n---\n\n```{code-cell}\nx = 1\nx\n```\n",
        )
        book.build("html")
        data = json.loads((book.build_folder / "jupyter_execute" / "lecture.ipynb").read_text())
        for cell in data["cells"]:
            cell.pop("id", None)
        downloads.append(data)

    ours, theirs = downloads

    assert ours == theirs


def test_kernelspec_that_undoes_the_pin_is_warned_about(tmp_path: Path) -> None:
    """A kernel specification's own environment wins over the pin, and the difference is a warning of its own kind."""
    kernel = tmp_path / "data" / "kernels" / "stubborn"
    kernel.mkdir(parents=True)
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "gpu.py").write_text(STAND_IN_GPU)
    argv = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Stubborn", "language": "python", "env": {"JAX_PLATFORMS": "rocm,cpu"}}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    book = TinyBook(tmp_path)
    book.lecture(
        "pinned", "import jax.numpy as jnp\n(jnp.ones(3) + 1).sum()", front_matter="jax-device: cpu", kernel="stubborn"
    )

    env = {"JUPYTER_PATH": str(tmp_path / "data"), "IPYTHONDIR": str(tmp_path / "ipython")}
    built = book.build("html", env=env)

    assert len(built.warnings_of("jaxdevice.device_used")) == 1, built.text
    assert book.report()["pinned"]["platform"] == "rocm"
    again = book.build("text", env=env)
    assert len(again.warnings_of("jaxdevice.device_used")) == 1, "a cached result of the wrong device is warned about too"


STAND_IN_GPU = """
# A second CPU client under the name of a GPU platform: selection rules can be seen without a GPU.
from jax._src import xla_bridge
from jaxlib import xla_client
xla_bridge.register_backend_factory("rocm", lambda: xla_client.make_cpu_client(), priority=400, fail_quietly=False)
"""


def test_gpu_that_is_missing_fails_the_page_and_says_what_to_do(tmp_path: Path) -> None:
    """A lecture that asks for a GPU on a machine without one is not run, and its page and the warning say so."""
    book = TinyBook(tmp_path)
    book.lecture("wants_gpu", SHOW, front_matter="jax-device: gpu")

    built = book.build("html")

    assert book.runs("wants_gpu") == 0
    assert len(built.warnings_of("jaxdevice.missing_device")) == 1
    assert "jaxdevice_missing_device" in built.page("wants_gpu")
    assert book.report()["wants_gpu"]["outcome"] == "failed"


def test_gpu_that_is_missing_may_be_a_warning_only(tmp_path: Path) -> None:
    """With jaxdevice_missing_device 'warn' the lecture runs on what there is, once for all builders."""
    book = TinyBook(tmp_path, config={"jaxdevice_missing_device": "warn"})
    book.lecture("wants_gpu", SHOW, front_matter="jax-device: gpu")

    first = book.build("html")
    second = book.build("text")

    assert book.runs("wants_gpu") == 1
    assert len(first.warnings_of("jaxdevice.missing_device")) == 1
    assert len(second.warnings_of("jaxdevice.missing_device")) == 1
    assert "platforms: None" in (second.output / "wants_gpu.txt").read_text()


def test_x64_version_and_compile_time_are_recorded(tmp_path: Path) -> None:
    """The record of a lecture that uses JAX holds version, precision, device and the compile time of its cells."""
    book = TinyBook(tmp_path)
    cells = (
        "import jax\njax.config.update('jax_enable_x64', True)",
        "jax.jit(lambda x: x @ x)(jax.numpy.eye(9)).sum()",
        "1 + 1",
    )
    book.lecture("jaxy", *cells, front_matter="jax-device: cpu")
    book.lecture("plain", "1 + 1")

    book.build("html")

    jaxy, plain = book.report()["jaxy"], book.report()["plain"]
    assert (jaxy["platform"], jaxy["device_kind"], jaxy["x64"]) == ("cpu", "cpu", True)
    assert jaxy["jax_version"]
    compiled = [cell["compile_seconds"] for cell in jaxy["cells"]]
    assert compiled[2] > 0
    assert compiled[3] == 0
    assert jaxy["compile_seconds"] == pytest.approx(sum(c for c in compiled if c), abs=0.002)
    assert plain["jax_version"] is plain["platform"] is plain["compile_seconds"] is None
