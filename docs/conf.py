"""The site: `make docs`. Pages are markdown (MyST); the reference is made from docstrings."""

import re

import rnnlens

project, author, release = "rnnlens", "The rnnlens authors", rnnlens.__version__
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["results", "benchmarks"]
suppress_warnings = ["toc.empty_glob"]  # pages that a study writes
highlight_language = "text"

html_theme = "furo"
html_title = f"rnnlens {release}"
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
always_document_param_types = False


def plain_docstring(app, what, name, obj, options, lines):
    """Docstrings are plain text with `code` in it; a paragraph with columns (name, shape, meaning) keeps them."""
    paragraphs = "\n".join(lines).strip("\n").split("\n\n")
    lines[:] = "\n\n".join(map(_paragraph, paragraphs)).split("\n")


def _paragraph(text):
    if re.search(r"\S {2,}\S|^ ", text, re.MULTILINE):
        return "::\n\n" + "\n".join("    " + line for line in text.split("\n"))
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick of its own
        return re.sub(r"([\\*|_`])", r"\\\1", text)
    prose = [re.sub(r"([\\*|_])", r"\\\1", part) for part in parts[::2]]
    code = [f"``{part}``\\ " for part in parts[1::2]]
    return "".join(word for pair in zip(prose, [*code, ""], strict=True) for word in pair)


def setup(app):
    app.connect("autodoc-process-docstring", plain_docstring)
