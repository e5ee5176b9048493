# `make help` lists what there is. Everything is installed into .venv and build/; nothing outside is touched.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PYTHONS ?=
SUITE ?= skeleton
GRAPH ?=
PATTERN ?=
DIRECTED ?=
SECONDS ?= 60
SEED ?=
PROCESSES ?= 1

# Recipes call everything by a path relative to this folder, so that its name may hold spaces.
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# Modules are compiled when they are first imported: most never are, and compiling all takes most of an installation.
INSTALL := $(PIP) install --no-compile
# One installation into .venv waits for another; the extension, which needs none of them, is built meanwhile.
IN_TURN := flock .venv/pip.lock
# The stamps carry the folder's name: a .venv that was copied or moved here has none of ours and is made again.
STAMPS := .venv/stamps-$(shell pwd -P | cksum | cut -d ' ' -f 1)

# Where the environment has Python write no bytecode, it is kept apart from the sources: pip, Sphinx and others would
# compile all of their modules each time.
ifdef PYTHONDONTWRITEBYTECODE
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/bytecode
endif

cxx_sources := $(shell find csrc src/motiflux/include -name '*.cpp' -o -name '*.hpp' -o -name '*.cuh')

# Under a make that has jobs of its own, these are used.
side_by_side = $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=4)
fuzz_options = --seconds $(SECONDS) --processes $(PROCESSES) $(if $(SEED),--seed $(SEED))

.PHONY: help setup setup-docs demo demo-serve test test-changed test-all test-gpu test-gpu-all racecheck fuzz fuzz-gpu lint format bench wheels docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## install motiflux and its tools into .venv
	@$(MAKE) $(side_by_side) $(STAMPS)/package $(STAMPS)/tools $(STAMPS)/peers

setup-docs: ## install what builds the documentation too
	@$(MAKE) $(side_by_side) $(STAMPS)/package $(STAMPS)/tools $(STAMPS)/peers $(STAMPS)/docs

demo: $(STAMPS)/package ## search WordNet and a million transfers, play them live; or make demo GRAPH=file PATTERN=file [DIRECTED=1]
	@$(BIN)/python demo/run.py $(if $(GRAPH),--graph "$(GRAPH)") $(if $(PATTERN),--pattern "$(PATTERN)") \
	  $(if $(filter-out 0,$(DIRECTED)),--directed)

demo-serve: $(STAMPS)/package $(STAMPS)/tools ## send transfers to a service, and show rings on a page until Ctrl-C
	@$(BIN)/python demo/serve.py

test: lint ## lint, then all tests but the long ones
	@scripts/test-kernels.sh $(BIN)/python

test-changed: setup ## all tests of the parts that changed since `make test-all` passed
	@$(BIN)/python tests/full_checks.py

test-all: lint $(STAMPS)/cluster ## lint, then all tests; on a machine with a GPU, on that too
	@echo "==> all tests of the GPU's kernels, emulated and sanitized"
	@scripts/test-emulated.sh $(BIN)/python --long
	@echo "==> all tests"
	@$(BIN)/python -m pytest -q --long
	@if nvidia-smi -L > /dev/null 2>&1; then $(MAKE) test-gpu-all racecheck; \
	  else echo "==> no GPU here: make test-gpu-all and make racecheck are left out"; fi
	@$(BIN)/python tests/full_checks.py --record || true

test-gpu: setup $(STAMPS)/gpu ## the tests that have a device, on the GPU of this machine
	@$(BIN)/motiflux doctor
	@scripts/test-gpu.sh $(BIN)/python

test-gpu-all: setup $(STAMPS)/gpu ## and the long ones
	@$(BIN)/motiflux doctor
	@scripts/test-gpu.sh $(BIN)/python --long

racecheck: setup $(STAMPS)/gpu ## look for races in the kernels' shared memory, on the GPU of this machine
	@$(BIN)/python scripts/racecheck.py

fuzz: $(STAMPS)/package ## compare random calls with the reference; SECONDS=60 SEED=number PROCESSES=1
	@$(BIN)/python scripts/fuzz.py $(fuzz_options)

fuzz-gpu: $(STAMPS)/gpu ## the same, on the GPU of this machine
	@$(BIN)/python scripts/fuzz.py --device cuda $(fuzz_options)

lint: setup ## style, types, layers, spelling
	@echo "==> lint: ruff, clang-format, mypy, import-linter, codespell"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check || { echo "make format lays these out"; exit 1; }
	@$(BIN)/clang-format --dry-run -Werror $(cxx_sources) || { echo "make format lays these out"; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary --strict demo/*.py scripts/write_pages.py scripts/write_grammar.py scripts/fuzz.py scripts/fuzz_streams.py scripts/racecheck.py scripts/racecheck_workload.py scripts/soak_batches.py scripts/soak_cluster.py scripts/soak_serve.py
	@report=$$($(BIN)/lint-imports 2>&1) || { echo "$$report"; exit 1; }
	@$(BIN)/codespell

format: setup ## lay out the Python and C++ sources
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet
	@$(BIN)/clang-format -i $(cxx_sources)

bench: $(STAMPS)/package $(STAMPS)/peers ## measure, beside other libraries; or make bench SUITE=name
	@$(BIN)/motiflux bench $(SUITE)

# Compiled kernels are for the wheel only: what is edited compiles its own.
wheels: $(STAMPS)/package $(STAMPS)/tools ## build wheels into dist/, with kernels for the usual GPUs, and check them
	@trap 'rm -rf src/motiflux/cubins' EXIT; \
	  echo "==> compiling kernels (some minutes)"; $(BIN)/python scripts/build-kernels.py; \
	  PYTHONS="$(PYTHONS)" scripts/build-wheels.sh

docs: $(STAMPS)/package $(STAMPS)/docs ## build the documentation into docs/_build/html
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "built docs/_build/html/index.html"

clean: ## remove everything that was built, .venv included
	@rm -rf .venv build dist docs/_build demo/out .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests demo benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMPS)/venv:
	@scripts/check-tools.sh "$(PYTHON)"
	@if compgen -G '.venv/stamps-*' > /dev/null; then rm -rf .venv build; fi
	@echo "==> making .venv with $$("$(PYTHON)" -V)"
	@[ -x $(BIN)/python ] || "$(PYTHON)" -m venv .venv
	@$(INSTALL) --upgrade "pip>=25.1"
	@mkdir -p $(STAMPS) && touch $@

dependencies := import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'])
$(STAMPS)/build: pyproject.toml | $(STAMPS)/venv
	@echo "==> installing what motiflux and its build need"
	@$(INSTALL) --group build $$($(BIN)/python -c "$(dependencies)")
	@touch $@

$(STAMPS)/package: CMakeLists.txt pyproject.toml $(cxx_sources) | $(STAMPS)/build
	@scripts/check-tools.sh $(BIN)/python
	@echo "==> building the extension (about a minute the first time)"
	@headers=$$(scripts/python-headers.sh $(BIN)/python build/headers); mapfile -t flags <<< "$$headers"; \
	  $(INSTALL) --no-build-isolation --no-deps --editable . $${headers:+"$${flags[@]}"}
	@touch $@

$(STAMPS)/gpu: pyproject.toml | $(STAMPS)/package
	@echo "==> installing packages: the gpu extra"
	@$(PIP) install --no-build-isolation --editable '.[gpu]'
	@touch $@

$(STAMPS)/tools: groups := test lint nvrtc
$(STAMPS)/docs: groups := docs
$(STAMPS)/peers: groups := peers interop
$(STAMPS)/cluster: groups := cluster
$(STAMPS)/tools $(STAMPS)/docs $(STAMPS)/peers $(STAMPS)/cluster: pyproject.toml | $(STAMPS)/build
	@echo "==> installing packages: $(groups)"
	@$(IN_TURN) $(INSTALL) $(addprefix --group ,$(groups))
	@touch $@
