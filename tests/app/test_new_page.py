"""A page of the explorer is one folder and one line."""

import shutil

from pages import APP, LONGEST
from streamlit.testing.v1 import AppTest

PAGE = '''"""A page for a test."""

from app.shared.page import layout

layout.heading("Toys", "A page in one folder.")
'''


def test_a_page_is_one_folder_and_one_line(tmp_path):
    app = shutil.copytree(APP.parent, tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    (app / "views" / "toys").mkdir()
    (app / "views" / "toys" / "page.py").write_text(PAGE)
    explore = app / "explore.py"
    lines = explore.read_text(encoding="utf-8")
    explore.write_text(lines.replace("PAGES = {\n", 'PAGES = {\n    "toys": ("Toys", ":material/toys:"),\n'))
    first = AppTest.from_file(str(explore), default_timeout=LONGEST).run()
    assert not first.exception and first.title[0].value == "Toys"
    assert first.session_state.page == "toys"
    assert "A page in one folder." in [markdown.value for markdown in first.main.markdown]
    others = first.switch_page("views/tasks/page.py").run()
    assert not others.exception and others.title[0].value == "Tasks" and others.session_state.page == "tasks"


def test_no_folder_has_the_name_that_streamlit_reserves():
    """Beside a folder "pages" it tells the first visitor of any page but the first: page not found."""
    assert not (APP.parent / "pages").exists()
