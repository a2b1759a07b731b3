# Two commands: `make demo` to see it work, `make test` to see it hold. Each sets everything up by itself.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint browser bench coverage audit faults clean

demo: .venv/ready  ## analyse the packaged IMDB network and write its report (well under a minute)
	$(BIN)/rnnlens demo --out runs/demo

test: lint browser  ## everything that must hold
	$(BIN)/python -m pytest

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

browser:  ## Chromium, which tests of the page run in: installed where that is allowed, else those tests are skipped
	@command -v chromium || command -v google-chrome || { [ "$$(id -u)" = 0 ] && command -v apt-get && \
	  apt-get update -qq && apt-get install -y -qq chromium; } || echo "no Chromium here: tests of the page are skipped"

bench: .venv/ready  ## ratios against peers and limits, measured side by side; IMDB=folder measures on the real reviews
	$(BIN)/python -m benchmarks $(if $(IMDB),--imdb $(IMDB))

coverage: .venv/ready browser  ## which branches of src/ the tests take; fails below 90 %
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered --cov-fail-under=90

audit: .venv/ready  ## what is known of weaknesses in the pinned releases; needs the network, and fails without it
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip-audit
	$(BIN)/pip-audit --strict --no-deps --disable-pip -r constraints.txt

faults: .venv/ready  ## strike every command at every moment, fuzz every loader, break twenty lines: hours; writes docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt atheris
	$(BIN)/python -m studies.faults
	$(BIN)/python -m studies.mutations

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv .venv; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache
