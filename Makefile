# Two commands matter: make run, make test. PYTHON= names the Python to build .venv with, PORT= the app's port,
# OUT= the folder of `make site`.
PYTHON ?= python3
PORT ?= 8501
OUT ?= .tmp/charts
PY := .venv/bin/python

# Tests and measurements use one thread a process: the processes share the cores. They keep what Python compiles: tests
# start some hundred processes. Types are checked beside the tests, which often wait for a browser.
WITH := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
INSTALL = '$(PYTHON)' tools/install.py

.DEFAULT_GOAL := help
.PHONY: help run site test test-all test-long bench bench-scale bench-gpu evidence papers picture attack format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Open the app on http://localhost:8501 (PORT=8502 for another port)
	@$(INSTALL) app && exec $(PY) -m dpviz app --port='$(PORT)'

site: ## Write charts that need no server into .tmp/charts (OUT=folder for another place)
	@$(INSTALL) app && exec $(PY) -m dpviz site '$(OUT)'

test: ## Check everything: style, types, layers, and tests with those in a real browser
test-all: ## The same, then longer sweeps, and the app in Firefox and in Safari's engine
test-long: ## Only what takes hours: every stop of every slider, attacks on thousands of trainings
test: PART := -m 'not engines and not sweep and not long'
test-all: PART := -m 'not long'
test-long: PART := -m long
test test-all test-long:
	@$(INSTALL) dev
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --check --quiet . || { echo "Some files are not formatted: run 'make format'."; exit 1; }
	@$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	@$(PY) tools/lines.py
	@mkdir -p .tmp; nice $(PY) -m mypy >.tmp/mypy.txt 2>&1 & types=$$!; \
	$(WITH) $(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -p no:benchmark $(PART) tests; tests=$$?; \
	wait $$types; types=$$?; cat .tmp/mypy.txt; exit $$((tests + types))

bench: ## Measure speed beside other libraries in the same run
	@$(INSTALL) bench
	@$(WITH) $(PY) -m pytest -o python_files='bench_*.py' -W default --benchmark-only benchmarks
	@for script in benchmarks/compare_*.py; do \
		[ ! -e "$$script" ] || $(WITH) PYTHONPATH=. $(PY) "$$script" || exit 1; \
	done

bench-scale: ## Measure stores, runs, viewers, accounting and steps against goals; write docs/work/scale.md (a quarter of an hour)
	@$(INSTALL) dev
	@$(WITH) $(PY) -m benchmarks.scale

bench-gpu: ## Try private steps on a GPU and write docs/work/gpu.md (eight minutes at most)
	@$(INSTALL) dev
	@$(PY) -m benchmarks.gpu

evidence: ## Try the promises again and write docs/work/evidence.md (about ten minutes)
	@$(INSTALL) dev
	@$(WITH) $(PY) -m benchmarks.evidence

papers: ## Run the experiments behind figures again, from nothing (under an hour on two cores; stopped, it goes on later)
	@$(INSTALL) dev
	@$(WITH) $(PY) -m dpviz.experiments

picture: ## Take the pictures of the README and of docs/use/reading.md anew, from the running app (needs Chromium)
	@$(INSTALL) dev
	@$(WITH) $(PY) -m tools.screens

attack: ## Attack the app by links, files, imports, accounts, kills, crowds; write docs/work/attacks.md (some twenty minutes)
	@$(INSTALL) dev
	@$(WITH) $(PY) -m tools.attack

format: ## Put every file into the house's format
	@$(INSTALL) dev
	@$(PY) -m ruff check --fix --quiet . && $(PY) -m ruff format .

clean: ## Remove what the other targets made, .venv included
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .tmp .papers
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
