# Everything a person or CI does here, each target from a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help check test lint long bench diagrams clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-9s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Error: Python 3.11 or later is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

check: $(STAMP)  ## explore the controller election on both engines, then break it twice
	$(BIN)/python -m spec.demonstration

test: $(STAMP)  ## the whole test suite
	$(BIN)/python -m pytest -m 'not long' -n auto --dist loadfile

long: $(STAMP)  ## the checks that take minutes
	$(BIN)/python -m pytest -m long

bench: $(STAMP)  ## the engines beside a hand-written search and SPIN, and how cost grows; by hand, takes minutes
	$(BIN)/python -m benchmarks.compare 3-2-2-2
	$(BIN)/python -m benchmarks.compare 3-3-3-2 --without reference --without spark
	$(BIN)/python -m benchmarks.growth

lint: $(STAMP)  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

diagrams: $(STAMP)  ## draw diagrams/ anew from the tables
	$(BIN)/python -m statemachines.diagrams diagrams

clean:  ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info build dist
