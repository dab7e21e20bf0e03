# A bare python3 is enough: each target first builds the environment that it needs, once.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
RIVALS := .venv-rivals/.installed
SAMPLERS := .venv-samplers/.installed
PEERS := .venv-peers/.installed
RARE := .venv-rare/.installed
DOCS := .venv-docs/.installed
DIST := .venv-dist/.installed

# Two processes on two cores: threads of a linear algebra library would slow them down.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

# Do not use or change an environment that is active in the user's shell.
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: $(shell awk -F: '/^[a-z0-9-]+:.*## / { print $$1 }' $(MAKEFILE_LIST)) # all that `make help` lists

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## price an option with a handful of arms, in a few seconds
	@$(BIN)/croupier demo

test: lint ## lint, check types and layers, run all tests except the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: $(INSTALLED) ## run all tests, including the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m ""

test-faults: $(INSTALLED) ## attack runs and stores in thirty ways (an hour; ARGS="--scale 0.1")
	$(ONE_THREAD) $(BIN)/python -m tests.faults.harness $(ARGS)

test-versions: $(INSTALLED) ## quick tests with the oldest and newest dependencies, on Python 3.11 to 3.13
	$(ONE_THREAD) $(BIN)/python tests/versions.py $(ARGS)

test-rivals: $(RIVALS) ## the reduction, with bandits of other libraries (two minutes)
	$(ONE_THREAD) .venv-rivals/bin/python -m pytest -q -o addopts=--import-mode=importlib tests/unit/theory/test_reduction.py -k other_libraries

bench: bench-overhead bench-parallel bench-coverage bench-efficiency ## run all benchmarks: hours

bench-efficiency: $(INSTALLED) ## what is lost compared with the best arm (about an hour; ARGS="--case ...")
	$(ONE_THREAD) $(BIN)/python -m benchmarks.efficiency $(ARGS)

bench-coverage: $(INSTALLED) ## how often the intervals cover (about an hour; ARGS="--case ...")
	$(ONE_THREAD) $(BIN)/python -m benchmarks.coverage $(ARGS)

bench-overhead: $(INSTALLED) ## what croupier costs: run, import, decisions, deadlines (minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.overhead $(ARGS)

bench-programs: $(INSTALLED) ## what the command line and a program in C as an arm cost (a minute)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.programs $(ARGS)

bench-costs: $(INSTALLED) ## arms with costs: allocation, weights, bias at a deadline (minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.costs $(ARGS)

bench-calls: $(INSTALLED) ## a looped arm beside a vectorised one, with measured seconds (minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.calls $(ARGS)

bench-untuned: $(INSTALLED) ## ten families that nothing was tuned on: losses, silent misses (ten minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.untuned $(ARGS)

bench-logs: $(INSTALLED) ## which interval of a log covers best (a minute)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.logs $(ARGS)

bench-guaranteed: $(INSTALLED) ## do guaranteed intervals hold at every look, and what they cost (ten minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.guaranteed $(ARGS)

bench-strata: $(INSTALLED) ## coverage of strata, and what their epochs cost (an hour)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.strata $(ARGS)

bench-grown-strata: $(INSTALLED) ## what strata that grow take from the variance (an hour)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.grown_strata $(ARGS)

bench-continuum: $(INSTALLED) ## what it costs to learn a parameter while drawing (an hour)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.continuum $(ARGS)

bench-parallel: $(INSTALLED) ## what workers gain, what a width and a store cost (ten minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.parallel $(ARGS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.store

bench-delays: $(INSTALLED) ## 1000 workers in simulated time (minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.delays $(ARGS)

bench-policies: $(RIVALS) ## decisions per second, compared with other bandit libraries (a minute)
	$(ONE_THREAD) .venv-rivals/bin/python -m benchmarks.rivals $(ARGS)

bench-simulator: $(RIVALS) ## the cost of a simulated step, compared with other libraries (minutes)
	$(ONE_THREAD) .venv-rivals/bin/python -m benchmarks.simulator $(ARGS)

bench-paths: $(INSTALLED) ## paths of the option problem, compared with numpy (seconds)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.paths $(ARGS)

bench-logistic: $(INSTALLED) ## annealing of the logistic models, compared with a plain loop (a minute)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.logistic $(ARGS)

bench-evidence: $(SAMPLERS) bench-modes ## log Z to an error of 0.05, compared with other libraries (ten minutes, and bench-modes)
	$(ONE_THREAD) .venv-samplers/bin/python -m benchmarks.evidence $(ARGS)

bench-modes: $(SAMPLERS) ## log Z of hard posteriors, beside dynesty and nautilus; continues (hours; MODES="--seeds 2")
	$(ONE_THREAD) .venv-samplers/bin/python -m benchmarks.evidence_modes $(MODES)

bench-models: $(INSTALLED) ## log Z of plain models and unseen ones at several budgets; continues (minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.evidence_models $(ARGS)

bench-budgets: $(INSTALLED) ## does evidence keep its seconds, with likelihoods of any speed (ten minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.evidence_budgets $(ARGS)

bench-posterior: $(INSTALLED) ## draws from the posterior: moments, effective size (three minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.evidence_posterior $(ARGS)

bench-importance: $(RIVALS) ## mixtures of proposals, compared with pypmc (an hour; ARGS="--case ...")
	$(ONE_THREAD) .venv-rivals/bin/python -m benchmarks.importance $(ARGS)

bench-peers: $(PEERS) ## integrals, compared with vegas, QMCPy and scipy (an hour; ARGS="--seeds 40")
	$(ONE_THREAD) .venv-peers/bin/python -m benchmarks.peers $(ARGS)

bench-low: $(INSTALLED) ## integrals in one and two dimensions, with and without the cubature (four minutes)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.low_dimensions $(ARGS)

bench-rare: $(RARE) ## limit states with known probabilities: calls, misses, lost modes (hours)
	$(ONE_THREAD) .venv-rare/bin/python -m benchmarks.rare
	$(ONE_THREAD) .venv-rare/bin/python -m benchmarks.rare_gradient
	$(ONE_THREAD) .venv-rare/bin/python -m benchmarks.rare_calls
	$(ONE_THREAD) .venv-rare/bin/python -m benchmarks.rare_replications
	$(ONE_THREAD) .venv-rare/bin/python -m benchmarks.rare_methods

lint: $(INSTALLED) ## ruff, mypy and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED) ## format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS) ## build the site into build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --strict
	@echo "Open build/site/index.html"

figure1: $(INSTALLED) ## Figure 1 of the paper: two arms (a minute; ARGS=--full: an hour)
	$(ONE_THREAD) $(BIN)/python -m paper figure1 $(ARGS)

figure2: $(INSTALLED) ## Figure 2 of the paper: an option (two minutes; ARGS=--full: hours)
	$(ONE_THREAD) $(BIN)/python -m paper figure2 $(ARGS)

figure3: $(INSTALLED) ## Figure 3 of the paper: model evidence (a minute; ARGS=--full: minutes)
	$(ONE_THREAD) $(BIN)/python -m paper figure3 $(ARGS)

gallery: $(INSTALLED) ## run all examples, keep what they print and draw (two minutes; ARGS="heston")
	$(ONE_THREAD) $(BIN)/python -m tools.gallery run $(ARGS)

notebooks: $(INSTALLED) ## write the examples as notebooks into build/notebooks
	$(BIN)/python -m tools.gallery notebooks build/notebooks

picture: $(INSTALLED) ## make the moving picture of the README
	$(ONE_THREAD) $(BIN)/python -m tools.animate_demo docs/images/demo.gif

dist: $(DIST) ## build wheel and source archive twice, compare the bytes, check the metadata
	.venv-dist/bin/python -m tools.build_dist

clean: ## remove everything that make has made
	rm -rf .venv .venv-rivals .venv-samplers .venv-peers .venv-rare .venv-versions .venv-docs .venv-dist build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +

# The build tools are installed first and used directly, so that the constraints hold for them too.
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
	  "$$@" -c constraints.txt hatchling editables && \
	  "$$@" -c constraints.txt --no-build-isolation -e '.[dev]'; }; \
	pip="$(BIN)/python -m pip install --quiet"; \
	uv=$$(command -v uv) || \
	  { $$pip --retries 1 -c constraints.txt uv >/dev/null 2>&1 && uv=$(BIN)/uv; } || uv=; \
	{ test "$$uv" && install "$$uv" pip install --quiet --python $(BIN)/python; } || \
	  { test -z "$$uv" || echo "uv did not work here: pip installs instead ..."; install $$pip; }
	@touch $@

# Other bandit libraries stay out of the environment that croupier is tested in.
$(RIVALS): pyproject.toml constraints.txt benchmarks/rivals.txt
	@$(PYTHON) -m venv --clear .venv-rivals
	@echo "Installing croupier and its rivals into .venv-rivals ..."
	@.venv-rivals/bin/python -m pip install --quiet -c constraints.txt -e '.[compiled]' -r benchmarks/rivals.txt
	@touch $@

# Other samplers of the evidence stay out of it, too.
$(SAMPLERS): pyproject.toml constraints.txt benchmarks/evidence.txt
	@$(PYTHON) -m venv --clear .venv-samplers
	@echo "Installing croupier and other samplers into .venv-samplers ..."
	@.venv-samplers/bin/python -m pip install --quiet -c constraints.txt -e '.[compiled]' -r benchmarks/evidence.txt
	@touch $@

# Other integrators stay out of it, too. One of them is under the GPL: it is only run.
$(PEERS): pyproject.toml constraints.txt benchmarks/peers.txt
	@$(PYTHON) -m venv --clear .venv-peers
	@echo "Installing croupier and other integrators into .venv-peers ..."
	@.venv-peers/bin/python -m pip install --quiet -c constraints.txt -e '.[plot]' -r benchmarks/peers.txt
	@touch $@

# And so does OpenTURNS. It is under the LGPL: it is only run.
$(RARE): pyproject.toml constraints.txt benchmarks/rare.txt
	@$(PYTHON) -m venv --clear .venv-rare
	@echo "Installing croupier and OpenTURNS into .venv-rare ..."
	@.venv-rare/bin/python -m pip install --quiet -c constraints.txt -e . -r benchmarks/rare.txt
	@touch $@

# The site and the files of a release have tools of their own; croupier needs none of them.
$(DOCS): docs/requirements.txt
	@$(PYTHON) -m venv --clear .venv-docs
	@echo "Installing the tools of the site into .venv-docs ..."
	@.venv-docs/bin/python -m pip install --quiet -r docs/requirements.txt
	@touch $@

$(DIST): tools/dist-requirements.txt
	@$(PYTHON) -m venv --clear .venv-dist
	@echo "Installing the build tools into .venv-dist ..."
	@.venv-dist/bin/python -m pip install --quiet -r tools/dist-requirements.txt
	@touch $@
