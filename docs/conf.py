"""How the handbook is built: `make docs`."""

import shutil
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

from phaselabel import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import reference  # noqa: E402

# Pages of names that no longer exist would be built again.
shutil.rmtree(HERE / "api", ignore_errors=True)
# The page is made from `phaselabel.__all__`, so that it cannot miss a name.
HERE.joinpath("api.rst").write_text(reference.page(), encoding="utf-8")

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
autosummary_context = {"members_of": reference.class_members()}
templates_path = ["_templates"]
autodoc_typehints = "none"
napoleon_numpy_docstring = True
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"
highlight_language = "none"
html_math_renderer = "mathml"
exclude_patterns = ["_build", "_templates"]
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
    "write_computation_times": False,  # a page that fetches its tables from elsewhere
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "phaselabel"
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "header_links_before_dropdown": 4,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": []}  # pages without others below them
html_static_path = ["_static"]
html_css_files = ["handbook.css"]
html_show_sourcelink = False

#: Characters of our docstrings that docutils' converter knows by their TeX names only.
TEX = {
    "←": r"\leftarrow ",
    "∂": r"\partial ",
    "∓": r"\mp ",
    "≥": r"\geq ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
}


def _mathml(writer, node):
    """Formulas as MathML, which browsers draw themselves: nothing is fetched from elsewhere."""
    block = node.tagname == "math_block"
    tex = "".join(TEX.get(character, character) for character in node.astext())
    formula = tex2mathml(tex, as_block=block)
    writer.body.append(f'<div class="formula">{formula}</div>' if block else formula)
    raise SkipNode


def _check_reference(app, error):
    """Warn, which `make docs` takes for an error, about public names that have no entry in the handbook."""
    present = {entry[0] for entry in app.env.get_domain("py").get_objects()}
    for name in reference.public_names():
        if not error and f"phaselabel.{name}" not in present:
            logging.getLogger(__name__).warning("phaselabel.%s is not in the reference", name)


#: Pages with lists of other pages; a page that none of them names is listed at the end of the last one.
LISTS = ("index", "guide", "background")
#: Where the last list takes the pages in that no list names.
REST = "REST_OF_THE_PAGES"


def _list_the_rest(app, docname, source):
    """List the pages that no list names, so that every page is in the handbook."""
    if docname == LISTS[-1]:
        named = "\n".join(HERE.joinpath(f"{page}.md").read_text(encoding="utf-8") for page in LISTS).split(
            "\n"
        )
        rest = sorted(page.stem for page in HERE.glob("*.md") if page.stem not in (*named, *LISTS))
        source[0] = source[0].replace(REST, "\n".join(rest))


def setup(app):
    """Register the lists, the formulas and the check."""
    app.connect("source-read", _list_the_rest)
    app.connect("build-finished", _check_reference)
    app.add_html_math_renderer("mathml", inline_renderers=(_mathml, None), block_renderers=(_mathml, None))
