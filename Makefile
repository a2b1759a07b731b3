# Two commands: `make demo` to see it work, `make test` to see it hold. Each sets everything up by itself.
PYTHON ?= python3
BIN := .venv/bin
PROCESSES := $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 3 ] && n=3; echo $$((n + 1)))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint browser docs package bench coverage audit mutations clean

demo: .venv/ready  ## analyze the packaged reviews network and write its report (well under a minute)
	$(BIN)/rnnlens demo --out runs/demo

test: lint browser  ## everything that must hold, in a process more than there are cores, since some wait; at most four
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

browser:  ## Chromium, which tests of the page run in: installed where that is allowed, else those tests are skipped
	@command -v chromium || command -v google-chrome || { [ "$$(id -u)" = 0 ] && command -v apt-get && \
	  apt-get update -qq && apt-get install -y -qq chromium; } || echo "no Chromium here: tests of the page are skipped"

docs: .venv/dev  ## the site, in build/docs/index.html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q docs build/docs
	@echo "site: build/docs/index.html"

package: .venv/dev  ## wheel and sdist in dist/, and the wheel alone in a fresh environment: a few minutes
	$(BIN)/python tests/package.py

bench: .venv/dev  ## ratios against peers and limits, side by side; IMDB=folder, PEER=clone of fixed-point-finder, RECORD=1
	$(BIN)/python -m benchmarks $(if $(IMDB),--imdb $(IMDB)) $(if $(PEER),--peer $(PEER)) $(if $(RECORD),--record)

coverage: .venv/dev browser  ## which branches of src/ the tests take; fails below 90 %
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered --cov-fail-under=90

audit: .venv/dev  ## what is known of weaknesses in the pinned releases; needs the network, and fails without it
	$(PIP) pip-audit
	$(BIN)/pip-audit --strict --no-deps --disable-pip -r constraints.txt

mutations: .venv/dev  ## break twenty lines of the method, one at a time: does a test notice? some minutes
	$(BIN)/python -m reproduction.mutations

.venv/ready: pyproject.toml constraints.txt  ## what rnnlens itself needs
	$(PYTHON) -m venv .venv || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv .venv; }
	@echo "installing rnnlens and torch into .venv: a minute or two, once"
	$(PIP) -e .
	touch $@

.venv/dev: .venv/ready  ## and what its tests and pages need
	@echo "installing what tests and docs need: another minute or two, once"
	$(PIP) -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build dist
