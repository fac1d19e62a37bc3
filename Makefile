# The commands of the project. Each makes the environment that it needs in .venv.
#
#   make demo      a real pipeline on a local cluster
#   make test      every test
#   make check     format, lint, types, import rules
#   make bench     Rain beside Dask, Ray and Parsl
#   make docs      the documentation as a site, in site/
#   make format    put the code into its form
#   make clean     take away everything that these commands made

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# `make test COVERAGE=1` holds each of these at 95 % of its lines.
CORE   := rain/graph rain/scheduler rain/server/core governor/core

# pyright would ask the network whether it is the newest.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo test check bench docs format clean
.DELETE_ON_ERROR:

demo: $(VENV)/ready
	@$(BIN)/python -m rain.demo

test: $(VENV)/ready-dev
ifdef COVERAGE
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m tests.everything --coverage
	@$(BIN)/python -m coverage combine --quiet
	@for part in $(CORE); do \
		$(BIN)/python -m coverage report --include="$$part.py,$$part/**" --fail-under=95 || exit 1; \
	done
else
	@$(BIN)/python -m tests.everything
endif

# The slowest first; two at a time, and each says what it has to say in one piece.
CHECKS := check-pyright check-mypy check-format check-lint check-imports
.PHONY: $(CHECKS)

check: $(VENV)/ready-dev
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target --keep-going $(CHECKS)

check-pyright: ; @echo "pyright" && $(BIN)/pyright --pythonpath $(BIN)/python
check-mypy:    ; @echo "mypy"    && $(BIN)/mypy --no-error-summary
check-format:  ; @echo "format"  && $(BIN)/ruff format --diff --quiet .
check-lint:    ; @echo "lint"    && $(BIN)/ruff check --quiet .
check-imports: ; @echo "imports" && $(BIN)/lint-imports --no-logo

bench: $(VENV)/ready-bench
	@$(BIN)/python -m bench overhead

docs: $(VENV)/ready-docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # quietly it would not count warnings
	@echo "open site/index.html"

format: $(VENV)/ready-dev
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

clean:
	@rm -rf $(VENV) build dist site *.egg-info .coverage .coverage.* htmlcov \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment: one folder, four grades of what is installed in it.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Rain needs Python 3.11 or newer; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "no environment could be made; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/ready: pyproject.toml | $(BIN)/python
	@echo "installing Rain into $(VENV)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/ready-dev: pyproject.toml | $(BIN)/python
	@echo "installing Rain and the tools of its developers into $(VENV)"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/ready

$(VENV)/ready-bench: pyproject.toml | $(BIN)/python
	@echo "installing Rain, Dask, Ray and Parsl into $(VENV)"
	@$(PIP) --editable '.[bench]'
	@touch $@ $(VENV)/ready

$(VENV)/ready-docs: pyproject.toml | $(BIN)/python
	@echo "installing Rain and what makes its site into $(VENV)"
	@$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/ready
