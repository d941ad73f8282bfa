# Everything runs in .venv, which is made on first use. Needs Python 3.11+ (PYTHON=...) and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint format bench docs clean

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

# The peers have an environment of their own; real data sets are found through PHASELABEL_DATA.
bench: .venv-bench/stamp
	.venv-bench/bin/python benchmarks/flow.py
	.venv-bench/bin/python benchmarks/peers.py
	.venv-bench/bin/python benchmarks/few_labels.py
	.venv-bench/bin/python benchmarks/files.py
	.venv-bench/bin/python benchmarks/claims.py
	.venv-bench/bin/python benchmarks/graph.py
	.venv-bench/bin/python benchmarks/images.py
	.venv-bench/bin/python benchmarks/studio.py

docs: .venv/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@echo "the handbook is in docs/_build/index.html"

clean:
	rm -rf .venv .venv-bench out docs/_build docs/gallery

.venv/demo.stamp: EXTRAS := plot
.venv/test.stamp: EXTRAS := test
.venv/lint.stamp: EXTRAS := lint
.venv/docs.stamp: EXTRAS := docs
.venv/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary -e ".[$(EXTRAS)]"
	touch $@

.venv-bench/stamp: pyproject.toml
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary -e ".[bench]"
	touch $@
