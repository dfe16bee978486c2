"""Settings of Sphinx. The pages are staged by web/stage.py; no page of the book asks another host for anything."""

from web.repository import ADDRESS

project = "bertlab"
author = "the bertlab authors"
language = "en"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "web.mathml"]
exclude_patterns = ["templates", "static"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "attrs_block"]
myst_heading_anchors = 4

# Notebooks show the outputs that they were saved with.
nb_execution_mode = "off"
nb_merge_streams = True
nb_code_prompt_show = nb_code_prompt_hide = "What the cells below need"
nb_ipywidgets_js: dict = {}  # else pages fetch require.js from a CDN

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 88
add_module_names = False

html_theme = "furo"
html_title = "bertlab"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_js_files = [("book.js", {"defer": "defer"})]
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"source_repository": f"{ADDRESS}/", "source_branch": "main"} if ADDRESS else {}
highlight_language = "none"  # a block without a language is no Python
pygments_style = "friendly"
pygments_dark_style = "github-dark"
suppress_warnings = ["misc.highlighting_failure"]  # cells with magics of the course
