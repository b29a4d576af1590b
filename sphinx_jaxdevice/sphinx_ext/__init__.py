"""The Sphinx front: the only part of the package that knows Sphinx, docutils and MyST-NB."""

from __future__ import annotations

from typing import Any, Literal, cast

from sphinx.application import Sphinx

from sphinx_jaxdevice import __version__
from sphinx_jaxdevice.config import option_specs

from .build import Build
from .domain import LectureDomain
from .table import setup_table


def setup(app: Sphinx) -> dict[str, Any]:
    """Register options, domain, directive and event handlers with Sphinx, and return the extension's metadata."""
    app.setup_extension("myst_nb")
    for name, default, rebuild, types, _help in option_specs():
        app.add_config_value(name, default, cast("Literal['', 'env']", rebuild), types)
    app.add_domain(LectureDomain)
    setup_table(app)
    build = Build(app)
    # After myst-nb's own handler of the event, which sets the configuration that ours reads.
    app.connect("builder-inited", build.start, priority=700)
    app.connect("env-get-outdated", build.outdated)
    app.connect("env-before-read-docs", build.reading)
    # Late, so that the warnings of other extensions stand before the summary.
    app.connect("env-updated", build.finished_reading, priority=900)
    return {"version": __version__, "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
