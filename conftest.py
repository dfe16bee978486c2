"""Tests test the checkout they stand in, whatever is installed: here, in processes, in kernels of notebooks."""

import os
from pathlib import Path

ROOT = Path(__file__).parent  # pytest puts it first on its own path
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def pytest_configure(config):
    if config.getoption("nbval", False):
        config.option.randomly_reorganize = False  # a notebook's cells run from first to last


def pytest_collection_modifyitems(config, items):
    if config.getoption("nbval", False):
        from tests.nbval_figures import TAG, compared_roughly

        for item in items:
            if TAG in item.cell.metadata.get("tags", ()):
                item.compare_outputs = compared_roughly(item)
