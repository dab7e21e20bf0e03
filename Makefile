# A bare python3 is enough: each target first builds the environment that it needs, once.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
PEERS := .venv-peers/.installed
DOCS := .venv-docs/.installed

# Two processes on two cores: threads of a linear algebra library would slow them down.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

# Do not use or change an environment that is active in the user's shell.
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: $(shell awk -F: '/^[a-z0-9-]+:.*## / { print $$1 }' $(MAKEFILE_LIST)) # all that `make help` lists

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { split($$1, name, ":"); printf "  make %-16s %s\n", name[1], $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## price an option with a handful of arms, in a few seconds
	@$(BIN)/croupier demo

test: lint ## lint, run all tests except the slow ones (ARGS=--cov: and measure what they cover)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

test-slow: $(INSTALLED) ## run all tests, including the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m ""

test-faults: $(INSTALLED) ## attack runs and stores in thirty ways (an hour; ARGS="--scale 0.1")
	$(ONE_THREAD) $(BIN)/python -m tests.faults.harness $(ARGS)

test-versions: $(INSTALLED) ## quick tests with the oldest and newest dependencies, on Python 3.11 to 3.14
	$(ONE_THREAD) $(BIN)/python tests/versions.py $(ARGS)

# A benchmark's quick form takes minutes. ARGS=--full measures the tables of the pages: hours.
bench-core: $(INSTALLED) ## losses against the best arm, coverage, budgets (ARGS=--full: hours)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.runner core $(ARGS)

bench-paper: $(INSTALLED) ## the three figures of the paper (ARGS=--full: hours)
	for figure in figure1 figure2 figure3; do $(ONE_THREAD) $(BIN)/python -m paper $$figure $(ARGS) || exit; done
	$(ONE_THREAD) $(BIN)/python -m benchmarks.runner paper $(ARGS)

bench-doors: $(PEERS) ## strata, a continuum, importance families beside pypmc
bench-integrate: $(PEERS) ## integrals, beside vegas, QMCPy and scipy
bench-rare: $(PEERS) ## limit states, beside FORM, subset simulation and OpenTURNS
bench-evidence: $(PEERS) ## the evidence, beside dynesty, nautilus and blackjax
bench-speed: $(PEERS) ## runs, workers, stores, programs; policies beside other bandit libraries
bench-doors bench-integrate bench-rare bench-evidence bench-speed:
	$(ONE_THREAD) .venv-peers/bin/python -m benchmarks.runner $(@:bench-%=%) $(ARGS)

lint: $(INSTALLED) ## ruff, spelling, mypy and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED) ## format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS) ## build the site into build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --strict
	@echo "Open build/site/index.html"

gallery: $(INSTALLED) ## run the examples, keep what they print and draw, write notebooks (ARGS="heston")
	$(ONE_THREAD) $(BIN)/python -m tools.gallery run $(ARGS)
	$(BIN)/python -m tools.gallery notebooks build/notebooks

dist: $(DOCS) ## build wheel and source archive twice, compare the bytes, check the metadata
	.venv-docs/bin/python -m tools.build_dist

clean: ## remove everything that make has made
	rm -rf .venv .venv-peers .venv-docs build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +

# The build tools are installed first and used directly, so that the constraints hold for them too;
# and pip, since an old one does not read dependency groups.
# uv is only faster than pip: if uv fails for any reason, pip is used.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "croupier needs Python 3.11 or newer, but '$(PYTHON)' is older." >&2; \
	  echo "Give another one: make PYTHON=python3.12 ..." >&2; \
	  exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv || { \
	  rm -rf .venv; \
	  echo "'$(PYTHON) -m venv' does not work here." >&2; \
	  echo "On Debian and Ubuntu this adds it: apt install python3-venv" >&2; \
	  exit 1; }
	@echo "Installing croupier and its tools into .venv ..."
	@install() { \
	  "$$@" -c constraints.txt pip hatchling editables && \
	  "$$@" -c constraints.txt --no-build-isolation -e . --group dev; }; \
	pip="$(BIN)/python -m pip install --quiet"; \
	uv=$$(command -v uv) || \
	  { $$pip --retries 1 -c constraints.txt uv >/dev/null 2>&1 && uv=$(BIN)/uv; } || uv=; \
	{ test "$$uv" && install "$$uv" pip install --quiet --python $(BIN)/python; } || \
	  { test -z "$$uv" || echo "uv did not work here: pip installs instead ..."; install $$pip; }
	@touch $@

# Other libraries stay out of the environment that croupier is tested in. They are only run.
$(PEERS): pyproject.toml constraints.txt
	@$(PYTHON) -m venv --clear .venv-peers
	@echo "Installing croupier and what it is compared with into .venv-peers ..."
	@.venv-peers/bin/python -m pip install --quiet -c constraints.txt pip
	@.venv-peers/bin/python -m pip install --quiet -c constraints.txt -e '.[all]' --group peers
	@touch $@

# The site and the files of a release have tools of their own; croupier needs none of them.
$(DOCS): docs/requirements.txt tools/dist-requirements.txt
	@$(PYTHON) -m venv --clear .venv-docs
	@echo "Installing the tools of the site and of a release into .venv-docs ..."
	@.venv-docs/bin/python -m pip install --quiet -r docs/requirements.txt -r tools/dist-requirements.txt
	@touch $@
