# make VERB A=b is lth VERB --a=b: `make` lists the verbs, `make help VERB` or `lth VERB -h` explains one.
.DEFAULT_GOAL := help
.SUFFIXES:
TESTS ?= tests

lth := scripts/python harness/__main__.py make
pytest := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/build/pycache .venv/bin/python -m pytest -q
setup := scripts/python scripts/setup
# `make help run` is one command: its second word is no target of its own.
ifeq (help,$(firstword $(MAKECMDGOALS)))
topics := $(filter-out help,$(MAKECMDGOALS))
$(topics): help ; @:
endif

.PHONY: help setup test test-fast test-real lint generated bench findings clean $(MAKECMDGOALS)

help:
	@$(lth) help $(topics)

# All verbs. The variables of the command line are in MAKEFLAGS, which the program reads.
$(filter-out help setup test test-fast test-real lint generated bench findings clean $(topics),$(MAKECMDGOALS)):
	@$(lth) $@

setup: ## build .venv and the JMeter home; every other target does it when needed
	@$(setup) $(if $(filter 1 yes on true,$(ALL)),--all)

# All tests of a file run on one worker, which starts their system once. Six on two cores:
# a real test waits for two thirds of its time. In a fresh clone each of them would compile all tests for itself.
test: ## run all tests, with real JMeters and real systems (minutes)
	@$(setup) --tests
	@[ -d build/pycache ] || { for part in a-o p-z; do $(pytest) --co tests/[$$part]* >/dev/null & done; wait; }
	@$(pytest) -n 6 --dist loadfile --no-loadscope-reorder -m 'not counterpart' $(TESTS)

test-fast: ## run the tests that start no real system (under a minute); none in TESTS is no error
	@$(setup) --tests
	@$(pytest) -n 2 --dist worksteal -m 'not real and not counterpart' $(TESTS) || { [ $$? = 5 ] && [ '$(TESTS)' != tests ]; }

test-real: ## run the long tests: real counterparts such as sshd, large simulations; by hand and weekly (minutes)
	@$(setup) --tests
	@$(pytest) --timeout 1800 -m counterpart $(TESTS)
	@HARNESS_CI= $(MAKE) --no-print-directory test-fast # with new examples

lint: ## run ruff, mypy, and zizmor on the workflows
	@$(setup) --tests
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy
	@.venv/bin/zizmor --offline --quiet .github/workflows action.yml

generated: ## write again what is generated from the code: reference, schema, pages of keys and warnings
	@$(setup) --tests
	@.venv/bin/python -m tests.support.generated

bench: ## benchmark the harness (scripts/bench --help lists the parts)
	@scripts/python scripts/bench $(BENCH)

findings: ## run all scripts of findings/, which show what software outside does; by hand, never in CI (minutes)
	@code=0; for script in findings/*.sh; do echo "$$script"; bash "$$script" || { echo "Failed: $$script"; code=1; }; done; exit $$code

clean: ## remove .venv and build/; reports stay
	rm -rf .venv build .pytest_cache .ruff_cache .mypy_cache
