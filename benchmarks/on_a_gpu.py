"""What pins and limits come to on a machine with a GPU: builds a small book and prints what each lecture opened and used.

    python -m benchmarks.on_a_gpu

A lecture pinned to the CPU must hold no NVIDIA device file; `auto` and `gpu` must compute on the GPU; code that undoes a pin
must be warned about; a computation without end on the GPU must be ended by its limit and give the memory back.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.measure import OURS
from tests.books import TinyBook

COMPUTE = "import jax, jax.numpy as jnp\n(jnp.ones((200, 200)) @ jnp.ones((200, 200))).sum().block_until_ready()"
OPENED = """import os
paths = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.islink(f'/proc/self/fd/{fd}')]
print('device files:', sum(path.startswith('/dev/nvidia') for path in paths), 'platform:', jax.devices()[0].platform)"""
ENDLESS = """import jax, jax.numpy as jnp
print('begins', flush=True)
jax.jit(lambda x: jax.lax.while_loop(lambda x: x.sum() > -1, lambda x: x * 0 + 1, x))(jnp.ones(10)).block_until_ready()"""


def main() -> None:
    """Build the book and print a line for each lecture."""
    if shutil.which("nvidia-smi") is None:
        print("on a GPU: there is none on this machine, so there is nothing to show")
        return
    with tempfile.TemporaryDirectory() as folder:
        book = TinyBook(Path(folder), extensions=OURS)
        for device in ("cpu", "auto", "gpu"):
            book.lecture(device, COMPUTE, OPENED, front_matter=f"jax-device: {device}")
        book.lecture(
            "undone", "import jax\njax.config.update('jax_platforms', 'cuda')", COMPUTE, front_matter="jax-device: cpu"
        )
        book.lecture("endless", ENDLESS, front_matter="jax-device: gpu\njax-timeout: 30")
        built = book.build("text")
        for name, record in book.report().items():
            page = (built.output / f"{name}.txt").read_text()
            opened = next((line.strip() for line in page.splitlines() if re.search(r"device files: \d", line)), "")
            facts = {
                key: record[key] for key in ("device_asked", "platform", "device_kind", "outcome", "seconds", "compile_seconds")
            }
            print(f"{name:<8} {opened:<40} {json.dumps(facts)}")
    for warning in built.warnings:
        print(warning.partition("WARNING: ")[2])
    query = ["nvidia-smi", "--query-gpu=name,memory.used", "--format=csv,noheader"]
    print("GPU after the build:", subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip())


if __name__ == "__main__":
    main()
