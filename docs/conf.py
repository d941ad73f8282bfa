"""How the handbook is built: `make docs`."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

from phaselabel import __version__

project = "phaselabel"
author = "The phaselabel developers"
copyright = "The phaselabel developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
# scikit-learn writes this one; its words refer to a glossary of its own.
autodoc_default_options = {"exclude-members": "set_score_request, get_metadata_routing"}
napoleon_numpy_docstring = True
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"
highlight_language = "none"
html_math_renderer = "mathml"
exclude_patterns = ["_build", "sg_execution_times.rst"]
# Links into the repository, from pages that are read there too, lead nowhere in the handbook.
suppress_warnings = ["myst.xref_missing", "config.cache"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "phaselabel"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "header_links_before_dropdown": 4,
}
html_sidebars = {"*": []}
html_show_sourcelink = False

#: Characters of our docstrings that docutils' converter knows by their TeX names only.
TEX = {"←": r"\leftarrow ", "∂": r"\partial ", "≥": r"\geq ", "⟨": r"\langle ", "⟩": r"\rangle "}


def _mathml(writer, node):
    """Formulas as MathML, which browsers draw themselves: nothing is fetched from elsewhere."""
    block = node.tagname == "math_block"
    tex = "".join(TEX.get(character, character) for character in node.astext())
    writer.body.append(tex2mathml(tex, as_block=block))
    raise SkipNode


def setup(app):
    """Tell Sphinx about it."""
    app.add_html_math_renderer("mathml", inline_renderers=(_mathml, None), block_renderers=(_mathml, None))
