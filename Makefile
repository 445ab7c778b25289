# `make` alone prints this help. Everything runs in .venv, which the targets make themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
PYTEST_ARGS ?=
BENCH_ARGS ?=
MUTANTS_ARGS ?=
FIGURES_ARGS ?=
BENCH_WITH ?=
PACK_ARGS ?=
FRAMEWORKS ?= $(VENV)/.frameworks
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Modules are compiled once, when they are first imported: pip would compile all of torch, and tests start a hundred
# processes that import the package.
export PIP_NO_COMPILE := 1
unexport PYTHONDONTWRITEBYTECODE
# The other Pythons that are here: `make test` runs the tests of SHORT with the newest, `make test-pythons` the quick
# tier with each; PYTHONS= leaves them out.
PYTHONS ?= $(shell tools/pythons.sh $(PYTHON))
BRIEFLY ?= $(lastword $(PYTHONS))
# Those whose environments `make test` makes, while it waits for the network anyway.
PREPARED ?= $(BRIEFLY)
# What `make test-all` adds to the arguments of pytest. `fresh` draws a seed, and pytest prints it.
SEED ?= fresh
FULL = --tier full --seed $(SEED)
PYTHON_NAME = $(notdir $(PYTHON))
PARALLEL = $(MAKE) --no-print-directory --jobs=3 --output-sync=target
# Idle workers take tests from busy ones: neighbours, which share fixtures and caches, mostly stay together.
# Says that MkDocs 2 will differ; the version is bounded in pyproject.toml.
MKDOCS = NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs
DOCS_VERSION ?= $(shell sed -n 's/^version = "\(.*\)\..*"/\1/p' pyproject.toml)
TUTORIALS ?=
PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal
# Builds the native core for the Python that runs it, into src/tilewright, or does nothing in 0.2 s if it is
# built: recipes begin with it, so that they see what has changed in native/.
CORE := native/build_core.py
PRESET ?= release
SHORT ?= tests/host/op tests/host/launch tests/host/tensors tests/cpu/op/test_awaiting.py tests/docs/test_pages.py \
    tests/ownership/test_programs.py tests/errors
# What `make sanitize` runs: the tests that drive the native core hardest, less one that measures time.
SANITIZED ?= tests/host/devices tests/host/op tests/host/launch tests/host/tensors tests/cpu/devices tests/cpu/op \
    tests/ownership --deselect tests/cpu/op/test_awaiting.py::test_no_first_use_holds_the_loop

.DEFAULT_GOAL := help
.PHONY: docs docs-serve docs-figures docs-version help demo test test-pythons test-all ci others short native sanitize mutants other inplace wheel try-wheel check lint mypy pyright format bench \
    figures hostbench gpubench gpu-pack clean FORCE

help:  ## print this help
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*  ## /\1\t/' | \
	    while IFS="$$(printf '\t')" read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(VENV)/.base  ## run several kernels on this machine and check them against NumPy
	@$(BIN)/python $(CORE)
	@$(BIN)/python examples/demo.py

# Steps that wait for a network or use one processor run beside others; each prints what it has to say when it ends.
# What installs packages ends before anything reads them.
test: $(VENV)/.dev  ## what each change runs, in minutes: checks, unit tests of the core, the quick tier of the tests
	@$(PARALLEL) native $(FRAMEWORKS) others
	@$(PARALLEL) check $(if $(BRIEFLY),short)
	$(PYTEST) $(PYTEST_ARGS)

test-pythons:  ## the quick tier of the tests with every other Python that is here
	@for python in $(PYTHONS); do $(MAKE) --no-print-directory other PYTHON=$$python SHORT= || exit 1; done

# What runs with every Python need not run briefly before.
ci:  ## what CI runs: `make test` and `make test-pythons`
	@$(MAKE) --no-print-directory test BRIEFLY= PREPARED="$(PYTHONS)"
	@$(MAKE) --no-print-directory test-pythons

test-all: $(FRAMEWORKS)  ## everything: all cases, other random programs than before (SEED=), sanitizers, every Python
	@$(PARALLEL) check
	$(PYTEST) $(FULL) $(PYTEST_ARGS)
	@$(MAKE) --no-print-directory sanitize PYTEST_ARGS="$(FULL) $(PYTEST_ARGS)"
	@for python in $(PYTHONS); do \
	    $(MAKE) --no-print-directory other PYTHON=$$python PYTEST_ARGS="$(FULL) $(PYTEST_ARGS)" || exit 1; done
	@$(MAKE) --no-print-directory test-pythons

# One process: the checkers beside it have the other processor.
short:
	@$(MAKE) --no-print-directory other PYTHON=$(BRIEFLY) JOBS=0

others:
	@for python in $(PREPARED); do \
	    $(MAKE) --no-print-directory build/.test-$${python##*/} PYTHON=$$python || exit 1; done

native: $(VENV)/.base  ## unit tests of the native core: plain, under AddressSanitizer, under ThreadSanitizer
	@$(BIN)/python $(CORE) --test --if-possible release asan tsan

sanitize: $(VENV)/.dev  ## these, then tests of the host under AddressSanitizer; SANITIZED= says which
	@$(BIN)/python $(CORE) --test release asan tsan
	@$(BIN)/python tools/sanitize.py -q -n $(JOBS) $(SANITIZED) $(PYTEST_ARGS)

mutants: $(VENV)/.dev  ## put small mistakes into the sources, and see which tests notice; MUTANTS_ARGS="--sample 0"
	@$(BIN)/python $(CORE)
	@$(BIN)/python tools/mutants.py $(MUTANTS_ARGS)

inplace:  ## build the core for PYTHON into src/tilewright, with CMake, ninja and a compiler alone; PRESET=debug
	@$(PYTHON) $(CORE) $(PRESET)

try-wheel: $(VENV)/.dev  ## build a wheel with every Python here, and run the README where it alone is installed
	@$(BIN)/python tools/try_wheel.py

wheel: $(VENV)/.dev  ## an sdist, and from it a wheel for this machine, into dist
	@$(BIN)/python -m build --no-isolation --outdir dist

other: build/.test-$(PYTHON_NAME)  ## a short run of the tests with another Python: make other PYTHON=python3.13
	@build/$(PYTHON_NAME)/bin/python $(CORE)
	build/$(PYTHON_NAME)/bin/python -m pytest -q -n $(JOBS) --dist worksteal $(SHORT) $(PYTEST_ARGS)

check: lint mypy pyright  ## format, lint and types of the package, the examples and the docs

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

mypy: build/snippets
	$(BIN)/mypy
	$(BIN)/mypy build/snippets

pyright: build/snippets
	$(BIN)/pyright

# The Python of the docs, as files that the type checkers read.
build/snippets: FORCE | $(VENV)/.dev
	@$(BIN)/python tools/snippets.py build/snippets

format: $(VENV)/.dev  ## rewrite the sources in house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

figures: $(VENV)/.bench $(FRAMEWORKS)  ## measure what README and docs quote, at this commit; FIGURES_ARGS=--gpu
	@$(BIN)/python $(CORE)
	@$(BIN)/python -m benchmarks.figures $(FIGURES_ARGS)

docs: $(VENV)/.docs  ## build the book into site/, without a network; open site/index.html
	@$(BIN)/python $(CORE)
	$(MKDOCS) build

docs-serve: $(VENV)/.docs  ## show the book at http://127.0.0.1:8000, and build it again after each change
	@$(BIN)/python $(CORE)
	$(MKDOCS) serve --no-strict

docs-version: $(VENV)/.docs  ## add this version of the book to the branch gh-pages, as DOCS_VERSION and `latest`
	@$(BIN)/python $(CORE)
	NO_MKDOCS_2_WARNING=1 PATH=$(abspath $(BIN)):$$PATH mike deploy --update-aliases $(DOCS_VERSION) latest
	@NO_MKDOCS_2_WARNING=1 PATH=$(abspath $(BIN)):$$PATH mike set-default latest

docs-figures: $(VENV)/.base  ## measure the contests of the tutorials, and keep them for their plots: TUTORIALS="softmax"
	@$(BIN)/python $(CORE)
	@$(BIN)/python tools/book/measured.py $(TUTORIALS)

bench: $(VENV)/.bench  ## time kernels against NumPy, torch and numba; results in build/bench
	@$(BIN)/python $(CORE)
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

gpubench:  ## time kernels on this machine's GPU, with the torch, Triton and cuTile of PYTHON
	@$(PYTHON) $(CORE)
	@PYTHONPATH=src $(PYTHON) -m benchmarks.gpu $(BENCH_ARGS)

hostbench: $(VENV)/.bench  ## time what launches, chains, graphs and streams cost the host
	@$(BIN)/python $(CORE)
	@$(BIN)/python -m benchmarks.host $(BENCH_ARGS)

gpu-pack: $(VENV)/.dev  ## compile kernels for a GPU elsewhere into build/gpu-pack; PACK_ARGS="--arch sm_100"
	@$(BIN)/python $(CORE)
	@$(BIN)/python tools/gpu_pack.py build/gpu-pack $(PACK_ARGS)

clean:  ## remove the environment and everything built
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis src/tilewright/_core*.so*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

# What builds the core: scikit-build-core, and as wheels those tools that the machine does not have. They stay, for
# the builds to come, so there is no environment of pip's own for each (--no-build-isolation).
$(VENV)/.tools: pyproject.toml $(CORE) | $(VENV)/bin/python
	@$(PIP) install $$($(BIN)/python $(CORE) --requirements)
	@touch $@

# The stamps make a second run quick; a changed pyproject.toml installs again.
$(VENV)/.base: pyproject.toml $(VENV)/.tools
	@echo "installing tilewright into $(VENV)"
	@$(PIP) install --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.tools
	@echo "installing tilewright and the development tools into $(VENV)"
	@$(PIP) install --no-build-isolation --editable '.[dev]'
	@touch $(VENV)/.base $@

# Environments of other Pythons, for `make other`.
build/.test-%: pyproject.toml
	@echo "installing tilewright and its tests into build/$*"
	@$(PYTHON) -m venv build/$*
	@build/$*/bin/python -m pip --disable-pip-version-check --quiet install \
	    $$(build/$*/bin/python $(CORE) --requirements)
	@build/$*/bin/python -m pip --disable-pip-version-check --quiet install --no-build-isolation --editable '.[test]'
	@touch $@

# Large, so they have a stamp of their own. Where they are not to be had, the tests that need them are
# skipped, and listed as such; all others run.
$(VENV)/.frameworks: pyproject.toml | $(VENV)/.dev
	@echo "installing torch, JAX, Triton and Numba for the tests into $(VENV)"
	@$(PIP) install --no-build-isolation --editable '.[frameworks]' \
	    || echo "they cannot be installed here: tests that need them will be skipped"
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.tools
	@echo "installing tilewright and what builds the book into $(VENV)"
	@$(PIP) install --no-build-isolation --editable '.[docs]'
	@touch $(VENV)/.base $@

# A stamp of its own: torch is large, and nothing else needs it.
$(VENV)/.bench: pyproject.toml $(VENV)/.tools
	@echo "installing tilewright and the libraries it is compared with into $(VENV)"
	@$(PIP) install --no-build-isolation --editable '.[bench]' $(BENCH_WITH)
	@touch $(VENV)/.base $@
