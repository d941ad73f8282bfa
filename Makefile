# Everything runs in .venv, which is made on first use. Needs Python 3.11+ (PYTHON=...) and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint format clean

demo: .venv/demo.stamp
	$(BIN)/python examples/three_moons.py --out out

test: .venv/test.stamp
	$(BIN)/python -m pytest

lint: .venv/lint.stamp .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/lint.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv out

.venv/demo.stamp: EXTRAS := plot
.venv/test.stamp: EXTRAS := test
.venv/lint.stamp: EXTRAS := lint
.venv/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary -e ".[$(EXTRAS)]"
	touch $@
