# Two commands to know: `make demo` and `make test`. `make` alone lists the rest.
PYTHON ?= python3
PY := .venv/bin/python
# dvc.yaml's commands say `python`.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# No stage needs a hub, and none of the tools needs to call home.
export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export HF_HUB_DISABLE_TELEMETRY := 1

# --no-deps installs exactly the lock. torch's own CUDA packages depend on the build that pip found, so torch alone is
# asked for once more with its dependencies: a CPU build brings nothing, PyPI's CUDA build the packages it pins.
RUN := .venv/.run.stamp
DEV := .venv/.dev.stamp
OPENENV := .venv-openenv/.stamp
TORCH := $(shell grep '^torch==' requirements.lock)

# Unit tests run in two processes, one a core. Only the first has to import torch and transformers.
MODELS := $(addprefix tests/,environments rollouts stages task_commands tracking training)
OTHERS := tests $(addprefix --ignore=,$(MODELS) tests/pipeline_runs)

.PHONY: help demo test unit-models unit-others test-full lint ui lock clean

help: ## list the commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

demo: $(RUN) ## run the whole pipeline with the values in params.yaml and print the comparison
	@$(PY) -m pipeline doctor --quick
	@$(PY) -m flows.pipeline

test: $(DEV) lint ## lint, types, layers, and all tests that take seconds
	@$(MAKE) --no-print-directory -j 2 -O unit-models unit-others
	$(PY) -m pytest -m "not slow" tests/pipeline_runs $(PYTEST_ARGS)

unit-models: $(DEV)
	OMP_NUM_THREADS=1 $(PY) -m pytest -m "not slow" $(MODELS) $(PYTEST_ARGS)

unit-others: $(DEV)
	OMP_NUM_THREADS=1 $(PY) -m pytest -m "not slow" $(OTHERS) $(PYTEST_ARGS)

test-full: $(DEV) $(OPENENV) ## the slow tests: kills, two clones, real servers, browsers
	$(PY) -m pytest -m slow $(PYTEST_ARGS)

lint: $(DEV)
	@$(PY) -m pipeline doctor --quick
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/lint-imports --no-logo

ui: $(RUN) ## Prefect and MLflow servers on 127.0.0.1, both stopped by Ctrl-C
	@$(PY) -m flows.ui

lock: ## resolve the lock files again (needs uv)
	./scripts/lock.sh

# What is kept: data of one's own under data/raw, .venv, DVC's cache, MLflow's history and what still waits to go there.
clean: ## remove results, checkpoints and scratch files (not data/raw, not .venv, not DVC's cache, not MLflow's runs)
	rm -rf data/raw/demo models metrics plots reports .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@mkdir -p data .work
	find data -mindepth 1 -maxdepth 1 ! -name raw -exec rm -rf {} +
	find .work -mindepth 1 -maxdepth 1 ! -name tracking -exec rm -rf {} +
	find pipeline flows tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(RUN): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; say which: make PYTHON=python3.12 ...")'
	@echo "installing the locked packages into .venv; minutes and some GB the first time"
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --no-deps -r requirements.lock
	$(PY) -m pip install $(TORCH) -c requirements.lock
	@$(PY) -m pipeline doctor
	@touch $@

# OpenEnv's own package wants other versions than ours of what both need, so its server runs in an environment of its own.
$(OPENENV): requirements-openenv.lock
	$(PYTHON) -m venv .venv-openenv
	.venv-openenv/bin/python -m pip install --no-deps -r requirements-openenv.lock
	@touch $@

$(DEV): requirements-dev.lock $(RUN)
	$(PY) -m pip install --no-deps -r requirements-dev.lock
	@touch $@
