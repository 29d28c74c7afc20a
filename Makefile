# The commands of this project. Needs Python >= 3.10, pip, make and a package index; everything else is installed
# into $(VENV). Another interpreter: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
OLDEST_PYTHON ?= python3.10
VENV ?= .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-oldest lint format docs bench-smoke clean

help: ## List the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/make \1 - \2/'

demo: $(VENV)/.demo ## Do the main job: compile the GPT-2 vocabulary, encode Hamlet, write, read back, check
	$(RUN) examples/demo.py

test: $(VENV)/.test ## Run the tests: compiled, without the JIT (kernel coverage), with bounds checks
	PYTHON=$(RUN) tools/run_tests.sh

test-oldest: ## Run the compiled pass with the oldest supported Python, numba and numpy
	$(MAKE) .venv-oldest/.oldest VENV=.venv-oldest PYTHON=$(OLDEST_PYTHON)
	PYTHON=.venv-oldest/bin/python tools/run_tests.sh compiled

lint: $(VENV)/.dev ## Check style, types, imports, spelling
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/codespell
	$(VENV)/bin/validate-pyproject pyproject.toml

format: $(VENV)/.dev ## Format the code and repair what ruff can repair
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

docs: $(VENV)/.docs ## Build the documentation as a web site, in build/site
	$(RUN) -m tools.docs_site

bench-smoke: $(VENV)/.smoke ## Run the benchmarks once on little input, to see that they run; the numbers mean nothing
	$(RUN) -m asv_benchmarks.report --quick --rounds 1 --vocab gpt2 --corpora hamlet_lines \
		--kinds encode,latency,spans,threads,tasks --backends numba_nlp,tokenizers --results build/bench-smoke.json \
		--out build/bench-smoke.md
	$(RUN) -m asv_benchmarks.smoke

clean: ## Remove what these commands made
	rm -rf .venv .venv-* build dist out .asv .coverage* htmlcov .hypothesis .pytest_cache .mypy_cache .ruff_cache \
		.import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Debian splits ensurepip from python3: there the pip at hand installs pip into the new environment.
$(RUN):
	$(PYTHON) -m venv $(VENV) \
		|| { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(RUN) install --quiet pip; }
	$(PIP) --upgrade 'pip>=24'

# One stamp for each set of extras; the larger sets hold the smaller ones.
$(VENV)/.demo: pyproject.toml numba_nlp/_version.py constraints.txt | $(RUN)
	$(PIP) --constraint constraints.txt --editable '.[arrow,cli]'
	@touch $@

$(VENV)/.test: pyproject.toml numba_nlp/_version.py constraints.txt | $(RUN)
	$(PIP) --constraint constraints.txt --editable '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.dev: pyproject.toml numba_nlp/_version.py constraints.txt | $(RUN)
	$(PIP) --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.demo

$(VENV)/.docs: pyproject.toml numba_nlp/_version.py constraints.txt | $(RUN)
	$(PIP) --constraint constraints.txt --editable '.[docs]'
	@touch $@ $(VENV)/.demo

$(VENV)/.smoke: pyproject.toml numba_nlp/_version.py constraints.txt | $(RUN)
	$(PIP) --constraint constraints.txt --editable '.[smoke]'
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: pyproject.toml numba_nlp/_version.py constraints.txt | $(RUN)
	$(PIP) --constraint constraints.txt --editable '.[bench]'
	@touch $@ $(VENV)/.smoke $(VENV)/.demo

$(VENV)/.oldest: pyproject.toml numba_nlp/_version.py constraints-oldest.txt | $(RUN)
	$(PIP) --constraint constraints-oldest.txt --editable '.[test]'
	@touch $@
