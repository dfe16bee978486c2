# bertlab: every target installs what it needs into .venv and then does its one job. `make` lists them.
# Add arguments to what is started with ARGS, e.g. make explore ARGS="--server.port 8600"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup explore lab site site-serve test test-all test-fast bench screenshots notebooks constraints clean

BIN    := .venv/bin
PYTEST  = $(SCRATCH) $(BIN)/python -m pytest

# As many tests beside each other as there are cores, up to four, each on one core. Chapters too: they take two threads
# at most, and no more than this allows. Not by OMP_THREAD_LIMIT: with fewer threads than PyTorch counts on, products in
# bfloat16 are computed in part only.
# A chapter stays whole, as its cells share a kernel. 08 comes after all that would train on with the model it saves; the
# short ones, 02 to 07, come last and fill the end.
# Only what is needed is loaded, which every process does anew: nbval for chapters, files with a browser test for those.
test test-all test-fast: export OMP_NUM_THREADS := 1
JOBS    := -n auto --maxprocesses 4
BESIDE  := $(JOBS) --dist worksteal -p no:nbval
BROWSER = $(shell grep -rl --include 'test_*.py' 'mark\.browser' tests)
CHAPTERS = $(JOBS) --dist loadscope --no-loadscope-reorder \
           $(filter-out $(LAST),$(wildcard notebooks/*.ipynb)) $(LAST)
LAST     = $(wildcard notebooks/08*.ipynb notebooks/0[2-7]*.ipynb)

# Goes before a command, and takes with it what that leaves in the temporary folder. The chapters find there what a new
# reader has: an empty folder, whatever notebooks/my_bert.py may hold.
SCRATCH = tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT INT && mkdir "$$tmp/my_bert" && \
          TMPDIR=$$tmp BERTLAB_MY_BERT=$$tmp/my_bert $(COMPILED)
# Where compiled modules may not be kept beside their sources, .venv keeps them: hundreds of processes would compile
# PyTorch anew, which takes each 3 seconds of a processor in place of 1.6.
COMPILED = $(if $(PYTHONDONTWRITEBYTECODE),PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX="$(CURDIR)/.venv/pycache")

# Kernels of notebooks are those of .venv, whatever else this machine has.
export JUPYTER_PREFER_ENV_PATH := 1
# Threads that wait sleep soon: training keeps its speed beside other programs (see bertlab/__init__.py).
export OMP_WAIT_POLICY := PASSIVE
export GOMP_SPINCOUNT := 2000

help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

explore: EXTRAS := app
explore: setup ## open the explorer in the browser
	$(BIN)/streamlit run app/explore.py $(ARGS)

lab: EXTRAS := course
lab: setup ## open the chapters in JupyterLab
	$(BIN)/jupyter lab --notebook-dir=notebooks $(LAB_FLAGS) $(ARGS)

site: EXTRAS := app course site
site: setup ## build the web edition, a live BERT and the course as a book, into build/site
	$(BIN)/python -m web.build

site-serve: EXTRAS := app course site
site-serve: setup ## serve build/site at http://localhost:8000 (ARGS: another port)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site $(or $(ARGS),8000)

test: setup ## check style, types, library, explorer in a browser, chapters; 20 to 60 minutes
test-all: setup ## the same, the tests marked nightly, and new examples for each property
test: KINDS := and not nightly
test-all: DRAWN := --hypothesis-profile=nightly
test test-all:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) $(BESIDE) -m "not browser $(KINDS)" $(DRAWN) $(ARGS)
	$(PYTEST) $(BESIDE) -m "browser $(KINDS)" -rs $(BROWSER) $(ARGS)
	$(PYTEST) $(CHAPTERS) --nbval --nbval-current-env --nbval-cell-timeout=900 \
	    --nbval-sanitize-with=tests/nbval_sanitize.cfg $(ARGS)

test-fast: setup ## the quick part of the tests, while you work
	$(BIN)/ruff check .
	$(PYTEST) $(BESIDE) -m "not browser and not slow and not nightly" $(ARGS)

bench: setup ## time bertlab beside other libraries, into build/benchmarks.md; a quarter of an hour
	$(BIN)/python benchmarks/all.py

screenshots: setup ## take the pictures of the explorer that docs/ shows; needs Chromium or Chrome
	$(BIN)/python benchmarks/explorer/screenshots.py $(ARGS)

# Widget state and timings would change with every run and are of no use to a reader: they are left out. Pictures are
# kept small: the repository holds many.
notebooks: setup ## run the chapters again and keep their new outputs
	$(SCRATCH) OMP_NUM_THREADS=2 $(BIN)/jupyter nbconvert --to notebook --execute --inplace \
	    --ExecutePreprocessor.timeout=900 --ExecutePreprocessor.record_timing=False \
	    --ClearMetadataPreprocessor.enabled=True --ClearMetadataPreprocessor.clear_cell_metadata=False \
	    --ClearMetadataPreprocessor.preserve_nb_metadata_mask='{"kernelspec", "language_info"}' \
	    --NotebookExporter.preprocessors=bertlab.course.pictures.FewColours \
	    $(if $(ARGS),$(ARGS),notebooks/*.ipynb)

# Versions for other systems (the lines with a marker) stay as they are.
constraints: setup ## pin the versions that .venv holds now
	{ grep '^#' constraints.txt; \
	  { grep ';' constraints.txt; \
	    $(BIN)/pip freeze --all --exclude-editable --exclude pip | sed 's/+.*//'; } | LC_ALL=C sort -f; } >constraints.new
	mv constraints.new constraints.txt

clean: ## remove .venv; the next call installs it anew
	rm -rf .venv

# JupyterLab asks no other host for news or updates, nor a reader whether it may (notebooks/.lab); root (a container)
# needs to say so.
LAB_FLAGS := --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
             --LabApp.app_settings_dir=notebooks/.lab \
             $(if $(filter 0,$(shell id -u)),--allow-root)

# Each target asks for the extras that it needs, and adds to those that are there.
setup:
	@for py in $(if $(PYTHON),"$(PYTHON)",python3 python3.14 python3.13 python3.12 python3.11 python); do \
	    if "$$py" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then exec "$$py" install.py $(EXTRAS); fi; \
	done; \
	echo "bertlab needs Python 3.11 or later and $(or $(PYTHON),this machine) has none." \
	    "Install it, or name one: make PYTHON=/path/to/python3.11" >&2; \
	exit 1
