"""The site: `make docs`. Pages are markdown (MyST); the reference is made from docstrings."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import rnnlens

project, author, release = "rnnlens", "The rnnlens authors", rnnlens.__version__
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_math_renderer = "mathml"  # drawn by browsers themselves: the site loads no external script
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
highlight_language = "text"

html_theme = "furo"
html_title = f"rnnlens {release}"
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False


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


def folder_pages(app, name, source):
    """A link to the folder of results is, on a site, one to its page."""
    source[0] = source[0].replace("](results)", "](results/README.md)")


def mathml(block):
    def visit(translator, node):
        text = tex2mathml(node.astext(), as_block=block)
        translator.body.append(f'<div class="math">{text}</div>' if block else text)
        raise nodes.SkipNode

    return visit, None


def setup(app):
    app.add_html_math_renderer("mathml", mathml(block=False), mathml(block=True))
    app.connect("source-read", folder_pages)
    app.connect("autodoc-process-docstring", plain_docstring)
