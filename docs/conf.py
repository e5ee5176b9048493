"""Settings of the documentation: Sphinx with MyST; `make docs` builds it, warnings are errors."""

import tomllib
from pathlib import Path

_settings = Path(__file__).parents[1] / "pyproject.toml"
_project = tomllib.loads(_settings.read_text(encoding="utf-8"))["project"]

project = "motiflux"
release = version = _project["version"]
project_copyright = "the motiflux authors"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_attr_annotations = False  # types are in the signatures
highlight_language = "none"

html_theme = "furo"
html_title = "motiflux"
html_theme_options = {"light_css_variables": {"font-stack": "system-ui, sans-serif"}}
