# Front door for people: `make` alone explains itself. Everything is done by scripts/ and aggregate.py.
# make ends with code 2 on every failure; call scripts/run or aggregate.py where the exit code matters.

.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.PHONY: help setup run sweep capacity nightly system generator generator-keys report merge compare summary history accept site metrics push pull ls test test-fast lint bench clean

## PLAN=killbill-stripe      which traffic: plans/<PLAN>.toml, see below
PLAN ?= killbill-stripe
## USERS=50                  concurrent users, closed model (default: the plan's)
## RATE=20                   new users per second, open model, instead of USERS
## RAMP=25s                  time until all users run, part of the duration (default: users/2 s for KillBill)
## DURATION=100s             length of the load: 100, 100s, 15m, 4h, or auto: until it is steady (default: the plan's)
## MAX=10m                   with DURATION=auto: the most that the load lasts
## LOOPS=10                  loops per user, instead of DURATION
## REQUESTS=1000000          the load ends after about so many samples, if not before
## ENV=local                 profile env/<ENV>.toml, see below
ENV ?= local
## TARGET=http://host:8080   a system that runs already, instead of one started here
## PORT=8080                 port of the system started here (default: a free one)
## REMOTES=host:1099,host:1099  run, sweep: generators that share USERS or RATE (docs/generators.md)
## HOST=10.0.0.7             `make generator`: the name by which others reach it (default: this machine alone); PORT=1099
## KEYS=generator-keys       folder of the generators' keys
## SERIES=7                  series in the run's name, run-07_1 … (default: the last one used)
## NOTE="why this run"       text for the report's notes block
## USERS=1,5,10,25           levels of `make sweep`; REPEAT=3 measures each three times, in rounds
## LEVEL_DURATION=80 LEVEL_REQUESTS=1000000  sweep, capacity: DURATION and REQUESTS of each level
## FRESH=1                   sweep, capacity: start the system anew for each level
## WARMUP=30s                sweep, capacity: a run before the first level that is not counted; 0 for none
## RESUME=07                 sweep, capacity: go on with sweep-07 (the same command does it too); NEW=1 begins another
## RESUME=1                  nightly: go on with the last night
## P90=2000 AVERAGE=500      goal of a run or of `make capacity` in ms; ERRORS=1% (default: the plan's)
## FROM=1 MOST=400           users of its first run, and the most it tries
## SUITE=env/nightly.toml    what `make nightly` measures; DRY_RUN=1 only checks it and prints the order of the runs
## RUNS="gen1/run-01_1 …"    runs that `make merge` makes one of; INTO=reports/…/run-02_1 its folder (default: a free name)
## RUN=reports/…/run-01_1    the run that `make report` renders again, and `make metrics` fetches for
## LABEL="Capture Payment"   label of `make history` (default: TOTAL)
## METRIC=p90                its metric: average, median, p75, p90, p95, p99, throughput, errors
## LAST=20                   only the newest runs
## SINCE=2026-11-20 REASON="why"  `make accept`: the first night with a change of PLAN that is meant to be so
## S3=s3://bucket/prefix     `make run` pushes there; where `make push`, `pull`, `ls` go (default: [storage] of ENV)
## RUN="run-07_1 run-07_2"   push, pull, ls: which runs (default: all), of PLAN, of ENV, SINCE=2026-11-01, LAST=20
## FIGURES_ONLY=1 REPLACE=1  pull without samples; push reports made again in place of those there
## BASE=run-07_1 NEW=run-07_2  what `make compare` compares: runs (several with blanks between, patterns as run-07_*, files), or two sweeps
##                           PLAN=… where several plans have a run of that name; report and metrics take it, too
## THRESHOLD="p95=20%"       the least change that matters, instead of the plan's
## ANYWAY=1                  compare: also judge runs that are DOUBTFUL, or differ in users, plan or duration
## SURE=1                    run, sweep, capacity, nightly: code 3 for a DOUBTFUL run; compare: code 1 when it cannot tell
## REPORTS=reports           where reports go
REPORTS ?= reports
## TESTS=tests/base/test_units.py  what `make test` and `make test-fast` run (default: all)
TESTS ?= tests

python := scripts/python
# The variables of each target. One that the target does not take is an error: USER=10 must not start the default load.
length := PLAN ENV RAMP DURATION LOOPS REQUESTS TARGET PORT NOTE REPORTS
goal := P90 AVERAGE ERRORS
levels := $(length) LEVEL_DURATION LEVEL_REQUESTS FRESH WARMUP RESUME NEW S3 REMOTES SURE
takes.run := $(length) MAX $(goal) USERS RATE SERIES S3 REMOTES KEYS SURE
takes.sweep := $(levels) USERS REPEAT KEYS
takes.capacity := $(levels) $(goal) FROM MOST
takes.nightly := SUITE S3 DRY_RUN RESUME SURE REPORTS
takes.system := PLAN ENV PORT
takes.generator := HOST PORT ENV KEYS
takes.generator-keys := KEYS
takes.report := RUN PLAN REPORTS
takes.merge := RUNS INTO REPORTS
takes.compare := BASE NEW PLAN THRESHOLD LABEL ANYWAY SURE REPORTS
takes.summary := REPORTS
takes.history := PLAN LABEL METRIC USERS LAST REPORTS
takes.metrics := RUN PLAN ENV REPORTS
takes.accept := SINCE REASON PLAN ENV USERS LABEL METRIC REPORTS
takes.site := REPORTS
takes.push := RUN S3 ENV REPLACE REPORTS
takes.pull := RUN S3 ENV PLAN SINCE LAST FIGURES_ONLY REPORTS
takes.ls := RUN S3 ENV PLAN SINCE LAST
takes.test := TESTS
takes.test-fast := TESTS
takes.bench := BENCH
targets := $(sort $(patsubst takes.%,%,$(filter takes.%,$(.VARIABLES))))
known := $(sort $(foreach target,$(targets),$(takes.$(target))))
# What the scripts read from the environment may be given to make, too.
always := python pytest PYTHON CHROME JAVA_HOME JAVA_HOME_FOR_JMETER JMETER_HOME HARNESS_RUNS TMPDIR NO_COLOR GITHUB_STEP_SUMMARY AWS_% MAVEN_%

# Values are texts of the user: from here on make expands nothing in them, wherever they came from.
is_given = $(filter-out undefined default file automatic,$(firstword $(origin $(1))))
on_command_line := $(strip $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name))))
as_text = $(if $(call is_given,$(1)),$(eval override export $(1) := $$(value $(1))))
$(foreach name,$(sort $(known) $(on_command_line)),$(call as_text,$(name)))
# A make that a script or a test calls gets none of them.
MAKEOVERRIDES :=
# The scripts name variables in place of options: harness/entry.py.
asked := $(or $(MAKECMDGOALS),help)
export MAKE_VARIABLES := $(strip $(foreach target,$(asked),$(takes.$(target))))

define newline


endef
export NEWLINE := $(newline)
# $(call quote,it's) is 'it'\''s': one word for the shell, whatever is in it.
quote = '$(subst $(newline),'"$$NEWLINE"',$(subst ','\'',$(1)))'
# $(call option,users,$(USERS)) is --users='50', or nothing when the value is empty.
option = $(if $(strip $(2)),--$(1)=$(call quote,$(2)))
# $(call path,-dash) is './-dash': no option.
path = $(call quote,$(if $(filter -%,$(firstword $(1))),./)$(1))
# $(call quoted,run-07_1 run-08_*) is 'run-07_1' 'run-08_*'.
quoted = $(foreach name,$(1),$(call path,$(name)))
# $(call given,PLAN) is PLAN as the user gave it, nothing where it is our default.
given = $(if $(call is_given,$(1)),$($(1)))
# $(call names,plans) is what has a TOML file in plans/.
names = $(sort $(patsubst $(1)/%.toml,%,$(wildcard $(1)/*.toml)))

wrong := $(firstword $(filter-out $(MAKE_VARIABLES) $(always),$(on_command_line)))
takers := $(strip $(foreach target,$(targets),$(if $(filter $(wrong),$(takes.$(target))),$(target))))
near = $(shell $(python) -c 'import sys; from harness.base.config import did_you_mean; \
  print(did_you_mean(sys.argv[1].upper(), sys.argv[2:]))' $(call quote,$(wrong)) $(sort $(known)))
ifneq ($(wrong),)
ifneq ($(takers),)
$(error $(wrong): make $(asked) does not take it; these do: $(takers); nothing was started)
endif
$(error $(wrong): no such variable; $(near)make help lists them; nothing was started)
endif

# --sure, unless SURE is empty or 0.
sure = $(if $(filter-out 0,$(SURE)),--sure)

# Compiled once and not by every worker, whatever the environment says; the tree stays clean.
pytest = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/build/pycache .venv/bin/python -m pytest

help: ## this text
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-21s %s\n", $$1, $$2}'
	@echo 'Variables:'
	@sed -n 's/^## /  /p' $(MAKEFILE_LIST)
	@echo 'Plans:'
	@echo '  $(call names,plans)'
	@echo 'Profiles:'
	@echo '  $(filter-out nightly,$(call names,env))'

setup: ## build .venv and the JMeter home, once; every other target does it when needed
	@$(python) scripts/setup

run: ## start the system (or use TARGET), drive it with JMeter, stop it, leave a report
	@$(python) scripts/run $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,users,$(USERS)) \
	  $(call option,rate,$(RATE)) $(call option,ramp,$(RAMP)) $(call option,duration,$(DURATION)) \
	  $(call option,max,$(MAX)) $(call option,loops,$(LOOPS)) $(call option,requests,$(REQUESTS)) $(call option,target,$(TARGET)) \
	  $(call option,port,$(PORT)) $(call option,series,$(SERIES)) $(call option,p90,$(P90)) \
	  $(call option,average,$(AVERAGE)) $(call option,errors,$(ERRORS)) $(call option,note,$(NOTE)) \
	  $(call option,s3,$(S3)) $(call option,remotes,$(REMOTES)) $(call option,keys,$(KEYS)) $(sure) \
	  $(call option,reports,$(REPORTS))

# What sweep and capacity take beside their levels.
sweep_options = $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,ramp,$(RAMP)) \
  $(call option,duration,$(or $(LEVEL_DURATION),$(DURATION))) $(call option,loops,$(LOOPS)) \
  $(call option,requests,$(or $(LEVEL_REQUESTS),$(REQUESTS))) $(call option,target,$(TARGET)) \
  $(call option,port,$(PORT)) $(call option,warmup,$(WARMUP)) $(call option,resume,$(RESUME)) \
  $(if $(filter-out 0,$(FRESH)),--fresh) $(if $(filter 1,$(NEW)),--new) $(call option,note,$(NOTE)) \
  $(sure) $(call option,reports,$(REPORTS))

# $(call refused,S3,why,recipe) is the recipe, or an error when that variable has a value, which nothing would heed.
refused = $(if $(strip $($(1))),echo '$(2)' >&2; exit 2,$(3))
no_push = a sweep is not pushed by itself: when it is done, make push S3=… RUN="run-07_*"

sweep: ## a run for each of USERS=1,5,10,25, and one report of them all
	@$(call refused,S3,$(no_push),$(python) scripts/sweep $(call option,users,$(USERS)) $(call option,repeat,$(REPEAT)) \
	  $(call option,remotes,$(REMOTES)) $(call option,keys,$(KEYS)) $(sweep_options))

capacity: ## search the greatest number of users within the goal
	@$(call refused,REMOTES,a search for the capacity has no REMOTES: make sweep has,$(call refused,S3,$(no_push),$(python) \
	  scripts/capacity $(call option,p90,$(P90)) $(call option,average,$(AVERAGE)) $(call option,errors,$(ERRORS)) \
	  $(call option,from,$(FROM)) $(call option,most,$(MOST)) $(sweep_options)))

nightly: ## measure all loads of SUITE, judge them against the nights before: REPORTS/nightly/<date>.md
	@$(python) scripts/nightly $(call option,suite,$(SUITE)) $(call option,s3,$(S3)) \
	  $(if $(filter-out 0,$(DRY_RUN)),--dry-run) $(if $(strip $(RESUME)),--resume) $(sure) \
	  $(call option,reports,$(REPORTS)/nightly)

system: ## start the PLAN's system alone and keep it up until Ctrl-C
	@$(python) scripts/system $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,port,$(PORT))

generator: ## keep a generator up until Ctrl-C, which drives for make run REMOTES=…
	@$(python) scripts/generator $(call option,host,$(HOST)) $(call option,port,$(PORT)) $(call option,env,$(ENV)) \
	  $(call option,keys,$(KEYS))

generator-keys: ## make the keys by which generators and make run know each other, once
	@$(python) scripts/generator-keys $(call option,keys,$(KEYS))

report: ## render the report of RUN again
	@$(if $(strip $(RUN)),$(python) aggregate.py report $(call path,$(RUN)) $(call option,plan,$(call given,PLAN)) \
	  $(call option,reports,$(REPORTS)),echo 'give RUN=killbill-stripe/run-01_1' >&2; exit 2)

merge: ## make one run of RUNS="gen1/run-01_1 gen2/run-01_1", each of an independent generator
	@$(if $(strip $(RUNS)),$(python) aggregate.py report --merge $(call option,reports,$(REPORTS)) \
	  $(call option,into,$(INTO)) $(call quoted,$(RUNS)),echo 'give RUNS="gen1/run-01_1 gen2/run-01_1"' >&2; exit 2)

compare: ## has NEW become worse than BASE? REPORTS/<plan>/compare-<BASE>-<NEW>.md
	@$(if $(and $(strip $(BASE)),$(strip $(NEW))),$(python) aggregate.py compare --save $(call option,reports,$(REPORTS)) \
	  --base $(call quoted,$(BASE)) --new $(call quoted,$(NEW)) $(call option,label,$(LABEL)) \
	  $(foreach one,$(THRESHOLD),$(call option,threshold,$(one))) $(call option,plan,$(call given,PLAN)) \
	  $(if $(strip $(ANYWAY)),--anyway) $(sure),echo \
	  'give BASE=killbill-stripe/run-07_1 NEW=killbill-stripe/run-07_2' >&2; exit 2)

summary: ## write REPORTS/SUMMARY.md: every run of every plan, newest first
	@$(python) aggregate.py summary $(call path,$(REPORTS))

history: ## write the figures of PLAN over time with a chart: REPORTS/PLAN/history-TOTAL-average.md
	@$(python) aggregate.py history $(call path,$(REPORTS)) --save $(call option,plan,$(PLAN)) $(call option,label,$(LABEL)) \
	  $(call option,metric,$(METRIC)) $(call option,users,$(USERS)) $(call option,last,$(LAST))

metrics: ## fetch what CloudWatch knows of RUN (ENV: that of another profile), and write its report again
	@$(if $(strip $(RUN)),$(python) aggregate.py metrics $(call quoted,$(RUN)) $(call option,reports,$(REPORTS)) \
	  $(call option,plan,$(call given,PLAN)) $(call option,env,$(call given,ENV)),echo 'give RUN=killbill-stripe/run-01_1' >&2; exit 2)

accept: ## mark a change of PLAN as intended from the night SINCE on, for a REASON: the nightly compares since then
	@$(python) aggregate.py accept $(call option,since,$(SINCE)) \
	  $(call option,plan,$(call given,PLAN)) $(call option,env,$(call given,ENV)) \
	  $(call option,users,$(USERS)) $(call option,label,$(LABEL)) $(call option,metric,$(METRIC)) \
	  $(call option,reason,$(REASON)) $(call option,reports,$(REPORTS)/nightly)

site: ## write build/site: all reports as HTML pages with charts to zoom; open build/site/index.html
	@$(python) aggregate.py site $(call path,$(REPORTS))

stored = $(call quoted,$(RUN)) $(if $(strip $(S3)),$(call path,$(S3))) $(call option,env,$(call given,ENV))
chosen = $(call option,plan,$(call given,PLAN)) $(call option,since,$(SINCE)) $(call option,last,$(LAST))

push: ## put RUN, or all runs, into S3=s3://bucket/prefix
	@$(python) aggregate.py push $(if $(strip $(RUN)),,all) $(stored) $(if $(strip $(REPLACE)),--replace) \
	  $(call option,reports,$(REPORTS))

pull: ## get runs out of S3=s3://bucket/prefix into REPORTS
	@$(python) aggregate.py pull $(stored) $(chosen) $(if $(strip $(FIGURES_ONLY)),--figures-only) \
	  $(call option,reports,$(REPORTS))

ls: ## list the runs in S3=s3://bucket/prefix
	@$(python) aggregate.py ls $(stored) $(chosen)

# pytest's 5 is "no tests": as it should be where TESTS names files that have none of this kind, never for all of them.
or_none = || { [ $$? = 5 ] && [ $(call quote,$(TESTS)) != tests ]; }
tests = $(foreach word,$(TESTS),$(call quote,$(word)))

# One session for both kinds. A file stays on one worker, which starts the system of the file once. Three workers on two
# cores, as many of the real tests wait for most of their time.
test: ## all tests, with real JMeters and real systems (minutes)
	@$(python) scripts/setup --tests
	@$(pytest) -n 3 --dist loadfile --no-loadscope-reorder $(tests)

test-fast: ## the tests that start no real system (under a minute)
	@$(python) scripts/setup --tests
	@$(pytest) -n 3 --dist worksteal -m 'not real' $(tests) $(or_none)

lint: ## ruff and mypy
	@$(python) scripts/setup --tests
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy

bench: ## measure the product itself: readers, comparisons, sweeps, the gate, … (BENCH=aggregate; scripts/bench --help lists all)
	@$(python) scripts/bench $(call quoted,$(BENCH))

clean: ## remove .venv and build/; reports stay
	rm -rf .venv build .pytest_cache .ruff_cache .mypy_cache
