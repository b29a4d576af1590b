"""Configuration of the manual. The reference is printed from the package's own declarations by `reference_tables`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import sphinx_jaxdevice

project = "sphinx-jaxdevice"
author = "The sphinx-jaxdevice developers"
project_copyright = "2026, The sphinx-jaxdevice developers"
version = release = sphinx_jaxdevice.__version__

extensions = ["myst_parser", "sphinx_click", "sphinx_copybutton", "reference_tables"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "sphinx_book_theme"
html_title = "sphinx-jaxdevice"
html_static_path = ["_static"]
html_theme_options = {"home_page_in_toc": True, "show_navbar_depth": 2}
