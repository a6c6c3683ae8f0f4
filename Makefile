# Two commands do everything on a machine that has nothing but Python:
#   make demo   audits the embedded loan data, trains on it, and writes a page, loans.html
#   make test   checks style, types and behavior
# make quick checks what is over soon, make docs builds the site, make bench measures speed beside
# peers.
# Each builds its own environment in .venv and a second run reuses it.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt
# What takes long, by kind of test; `pytest --markers` says what each is.
SLOW   := browser or java or process or simulation or training or types or wheel
# The Law School data are not part of the project. Some developers keep them beside their clone.
ifneq ($(wildcard ../shared/data/.),)
export LIKEFORLIKE_DATA ?= $(abspath ../shared/data)
endif

# Tests start many processes, and each would read all source files anew without their bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick style check bench docs clean

demo: $(VENV)/.runtime
	$(BIN)/likeforlike demo

# Types are checked by a test, so that one core does it while the other goes on.
test: style
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --durations 15

# For while you work. The pages of docs/ are run by `make test` only: they train, and read large files.
quick: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not ($(SLOW))" \
		tests src/likeforlike tools README.md

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: style
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks --json benchmarks/results.json
	$(BIN)/python -m benchmarks.page --read benchmarks/results.json --page docs/benchmarks.md --readme README.md

# Not --quiet: MkDocs would not count the warnings that --strict turns into errors.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch goes first and alone: everything that depends on it must find the pinned build in place.
$(VENV)/.runtime: $(BIN)/python $(INPUTS)
	$(PIP) torch
	$(PIP) --editable '.[train]'
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) --editable '.[train,duckdb,spark,bench,docs,dev]'
	@touch $@
