# make demo: see it work.  make test: what must pass before a change goes in.  make docs: the pages, in build/site.
# Needs python3 (3.11 or newer) with venv, and make; everything else is installed into .venv.

PYTHON ?= python3
JOBS   ?= 2
TORCH  ?= torch
BIN    := .venv/bin
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-slow test-all test-hostile test-browser test-torch test-gpu test-wheel coverage bench docs lint clean

demo: .venv/.installed
	$(BIN)/python examples/demo.py

# All tests but the slow ones: the same ones every time.
test: lint
	$(PYTEST)

# The slow ones alone: what test-all has beyond test.
test-slow: .venv/.installed-test
	$(PYTEST) -m slow

test-all: lint
	$(PYTEST) -m ""

# Random programs, damaged files, calls of all kinds, processes killed while they save.
test-hostile: .venv/.installed-test
	$(PYTEST) tests/hostile -m ""

test-browser: .venv/.installed-test-browser
	$(BIN)/python -m pytest tests/browser -m browser -rs

# Tensors of torch on the CPU.
test-torch: .venv/.installed-test-torch
	$(BIN)/python -m pytest tests/tensors tests/contact -m torch

# On a machine with an NVIDIA GPU and torch in the environment.
test-gpu: .venv/.installed-test
	$(BIN)/python -m pytest tests/gpu -m gpu -rs

# The built wheel, in an environment and a folder of its own.
test-wheel:
	PYTHON=$(PYTHON) tools/test_wheel.sh

# Lines and branches that no test reaches; build/coverage/pages shows them. TESTS=tests/model for less.
coverage: .venv/.installed-test
	rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/python -m coverage run -m pytest -n $(JOBS) $(TESTS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet --directory build/coverage/pages
	$(BIN)/python -m coverage report

lint: .venv/.installed-test
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy linkwork

bench: .venv/.installed-test
	$(BIN)/python -m benchmarks

docs: .venv/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv .venv

# Installed again only when pyproject.toml is newer than the stamp.
.venv/.installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[plot]"
	@touch $@

.venv/.installed-test: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[test]"
	@touch $@ .venv/.installed

.venv/.installed-test-browser: .venv/.installed-test
	$(PIP) --editable ".[test-browser]"
	@touch $@

# TORCH=torch==2.13.0 or --index-url ... takes a wheel for the CPU alone: the ordinary one brings 3 GB of CUDA.
.venv/.installed-test-torch: .venv/.installed-test
	$(PIP) $(TORCH)
	@touch $@

.venv/.installed-docs: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[docs]"
	@touch $@
