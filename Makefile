# Three commands to begin with: `make demo`, `make demo-verified` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
export HF_HUB_OFFLINE = 1

.PHONY: env model demo demo-verified test test-fast test-slow check audit clean

env:
	@$(PYTHON) launch/setup_env.py $(VENV)

model: env
	@$(BIN)/python -m cluster.embedded_model >/dev/null

demo: model
	$(BIN)/python launch/eval.py model=demo

demo-verified: env
	$(BIN)/verified-code demo

test: model
	$(BIN)/python -m pytest -q -n 2 -m "not engine and not ray and not slow"
	$(BIN)/python -m pytest -q -m "(engine or ray) and not slow"

test-fast: env
	$(BIN)/python -m pytest -q -m "not engine and not ray and not slow"

test-slow: model
	$(BIN)/python -m pytest -q -m slow

check: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: env
	$(BIN)/serial7 audit

clean:
	rm -rf $(VENV) models build *.egg-info
