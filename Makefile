# The commands for daily work: `make` lists them. scripts/ and aggregate.py do the work.
# make returns 2 for every failure; call scripts/run or aggregate.py where the exit code matters.

.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.PHONY: help explain setup init check gui run soak sweep capacity overload ab tune nightly system generator generator-keys report export merge compare release pin summary history accept site comment notify metrics push pull ls test test-fast lint bench clean

PLAN ?= killbill-stripe
ENV ?= local
REPORTS ?= reports
TESTS ?= tests

python := scripts/python
# The variables of each target. Any other variable is an error: USER=10 must not start the default load.
length := PLAN ENV RAMP DURATION LOOPS REQUESTS TARGET PORT NOTE REPORTS
goal := GOAL P90 AVERAGE ERRORS
followed := LIVE METRICS OTLP
levels := $(length) $(goal) STOP SET PROFILE JFR LEVEL_DURATION LEVEL_REQUESTS FRESH WARMUP RESUME NEW S3 REMOTES $(followed) SURE
takes.setup := ALL
takes.init := PLAN JMX FIX FORCE
takes.check := PLAN ENV TARGET PORT PROPERTIES LIMIT HTML
takes.gui := PLAN ENV TARGET PROPERTIES
takes.run := $(length) MAX $(goal) STOP SET USERS RATE PROPERTIES SERIES BASE COMPARE S3 REMOTES KEYS PROFILE TRACE JFR $(followed) SURE
takes.soak := $(takes.run)
takes.sweep := $(levels) USERS REPEAT KEYS
takes.capacity := $(levels) FROM MOST
takes.overload := PLAN ENV SET GOAL RATE LEVEL_DURATION MAX TARGET NOTE RESUME NEW $(followed) REPORTS
takes.ab := A B PLAN ENV SET PROFILE USERS RATE RAMP DURATION REQUESTS MAX RESUME NEW SURE HTML $(followed) REPORTS
takes.tune := SET METRIC PLAN ENV USERS RATE RAMP DURATION REQUESTS REPEAT MAX RESUME NEW $(followed) REPORTS
takes.nightly := SUITE S3 DRY_RUN RESUME NEW SURE HTML $(followed) REPORTS
takes.system := PLAN ENV PORT
takes.generator := HOST PORT ENV KEYS
takes.generator-keys := KEYS
takes.report := RUN HTML PLAN REPORTS
takes.export := RUN FORMAT INTO PLAN REPORTS
takes.merge := RUNS INTO REPORTS
takes.compare := BASE NEW PLAN THRESHOLD LABEL ANYWAY SURE HTML REPORTS
takes.release := NEW BASE LONG TEMPLATE ANYWAY REPORTS
takes.pin := RUN AS REMOVE PLAN REPORTS
takes.summary := REPORTS
takes.history := PLAN LABEL METRIC USERS LAST REPORTS
takes.metrics := RUN PLAN ENV REPORTS
takes.accept := SINCE REASON PLAN ENV USERS LABEL METRIC REPORTS
takes.site := REPORTS
takes.comment := RESULT REPO PR SHA LINK CONTEXT DRY_RUN
takes.notify := RUN SUITE ENV DRY_RUN REPORTS
takes.push := RUN S3 ENV REPLACE REPORTS
takes.pull := RUN S3 ENV PLAN SINCE LAST FIGURES_ONLY REPORTS
takes.ls := RUN S3 ENV PLAN SINCE LAST VERIFY
takes.test := TESTS
takes.test-fast := TESTS
takes.bench := BENCH
# Variables that are on (1, yes, on, true) or off (0, no, off, false, empty), unless text.VERB lists them.
switches := ALL FIX FORCE FRESH NEW RESUME PROFILE TRACE COMPARE SURE HTML DRY_RUN ANYWAY REPLACE VERIFY FIGURES_ONLY
text.check := HTML
text.sweep := RESUME
text.capacity := RESUME
text.compare := NEW
text.release := NEW
targets := $(sort $(patsubst takes.%,%,$(filter takes.%,$(.VARIABLES))))
known := $(sort $(foreach target,$(targets),$(takes.$(target))))
# Variables that the scripts read from the environment are accepted by every target.
always := HELP DISPLAY XAUTHORITY python pytest PYTHON CHROME JAVA_HOME JAVA_HOME_FOR_JMETER JMETER_HOME HARNESS_RUNS LIVE_TOKEN TMPDIR NO_COLOR GITHUB_STEP_SUMMARY AWS_% MAVEN_%

# The text of `make help VERB` for each variable; about.VERB.NAME where a target uses the variable in another way.
about.PLAN := PLAN=killbill-stripe         plan plans/<PLAN>.toml: which traffic (default: killbill-stripe)
about.init.PLAN := PLAN=shop                    name of the new plan: plans/shop.jmx and plans/shop.toml (required)
about.ALL := ALL=1                      install also what only some commands need, and the systems of all plans
about.JMX := JMX=path/to/test.jmx         your JMeter test plan, which is copied; without it a plan with one request
about.FIX := FIX=1                        apply the fixes: target, load, redirects, assertions, listeners, data files
about.FORCE := FORCE=1                      replace a plan of this name
about.check.PLAN := PLAN=killbill-stripe         plan plans/<PLAN>.toml (default: killbill-stripe), or the path of a JMX
about.LIMIT := LIMIT=10m                    the longest time of the pass (default: 5m)
about.HTML := HTML=check.html              also write everything to this file
about.report.HTML := HTML=1                     also write the report as one HTML file beside it, for mail
about.compare.HTML := $(about.report.HTML)
about.nightly.HTML := $(about.report.HTML)
about.ab.HTML := $(about.report.HTML)
about.run.PLAN := PLAN=killbill-stripe         plan plans/<PLAN>.toml (default: killbill-stripe), or the path of a JMX for a first look
about.soak.PLAN := $(about.run.PLAN)
about.ENV := ENV=local                    profile env/<ENV>.toml: heap sizes and settings (default: local)
about.USERS := USERS=50                     concurrent users, closed model (default: the plan's); scales several loads
about.RATE := RATE=20                      new users per second, open model, instead of USERS
about.overload.RATE := RATE=1.5                      new users per second that are 100 % (default: those of the last capacity search)
about.A := A="delay_ms=10"              the baseline: settings, a profile, http://host:port or a commit (required)
about.B := B="delay_ms=11"              the contender, likewise (required)
about.ab.ENV := ENV=local                    profile of a side that names none (default: local)
about.ab.DURATION := DURATION=60s                 duration of each run (default: the plan's)
about.ab.MAX := MAX=30m                      time limit of all runs; four pairs must fit (default: none)
about.overload.MAX := MAX=30m                      time limit of all variants: refuse more than that (default: none)
about.ab.RESUME := RESUME=1                     resume the last A/B test of PLAN; repeating the command also resumes it while the code is unchanged
about.ab.SURE := SURE=1                       CANNOT TELL fails like REGRESSED (exit code 1)
about.tune.SET := SET="plugin_threads=30,60 gc=G1,Z"  settings with the values to try, the baseline first (required)
about.tune.METRIC := METRIC=p90                   metric that judges them: average, p90, throughput, … (default: p90)
about.tune.DURATION := DURATION=60s                duration of each run (default: the plan's)
about.tune.REPEAT := REPEAT=3                     runs of each combination (default: 2, more when there are few)
about.tune.MAX := MAX=2h                       time limit of all runs; the design must fit (default: none)
about.overload.RESUME := RESUME=1                     resume the last overload test of PLAN; repeating the command also resumes it while the code is unchanged
about.tune.RESUME := RESUME=1                     resume the last experiment of PLAN; repeating the command also resumes it while the code is unchanged
about.RAMP := RAMP=25s                     ramp-up, part of the duration (default: the plan's)
about.DURATION := DURATION=100s                duration: 100, 100s, 15m, 4h (default: the plan's)
about.run.DURATION := DURATION=100s                duration: 100, 100s, 15m, 4h; auto: until steady (default: the plan's)
about.soak.DURATION := DURATION=8h                 duration: 8h, 24h, 3h30m (default: 8h)
about.MAX := MAX=10m                      the longest duration with DURATION=auto
about.LOOPS := LOOPS=10                     loops per user, instead of DURATION
about.REQUESTS := REQUESTS=1000000             end the load after about this many samples
about.TARGET := TARGET=http://host:8080      a running system; without it the plan's system is started here
about.gui.TARGET := TARGET=http://host:8080      where its requests go (default: the address in the JMX)
about.PORT := PORT=8080                    port of the system that is started (default: a free one)
about.generator.PORT := PORT=1099                    port of the load generator; it also uses the next one
about.REMOTES := REMOTES=host:1099,host:1099  load generators that share the load (docs/generators.md)
about.capacity.REMOTES := REMOTES=…                    refused: only make run and make sweep use load generators
about.HOST := HOST=10.0.0.7                name or address of this machine for other machines (default: this one only)
about.KEYS := KEYS=generator-keys          folder of the load generators' keys
about.SERIES := SERIES=7                     series in the run's name: run-07_1 (default: the last series)
about.NOTE := NOTE="why this run"          text for the notes in the report
about.GOAL := GOAL="p95<1500, errors<1%"   goals instead of the plan's; also label: metric<limit, throughput>100/s
about.overload.GOAL := GOAL="p90<2s"                 an answer is good within the least time limit (default: the plan's goal)
about.STOP := STOP="errors>50% for 10s"    end the run early (default: the plan's; STOP=none ignores it)
about.P90 := P90=2000                     goal: p90 of at most 2000 ms (default: the plan's)
about.AVERAGE := AVERAGE=500                  goal: average of at most 500 ms
about.ERRORS := ERRORS=1%                    goal: at most 1 % failed samples (default: the plan's)
about.S3 := S3=s3://bucket/prefix        folder in S3 (default: [storage] of ENV)
about.run.S3 := S3=s3://bucket/prefix        upload the finished run there (default: [storage] of ENV)
about.soak.S3 := $(about.run.S3)
about.nightly.S3 := S3=s3://bucket/prefix        download earlier nightly runs from there, upload each run to it
about.sweep.S3 := S3=…                         refused: upload the runs afterwards with make push
about.capacity.S3 := $(about.sweep.S3)
about.PROPERTIES := PROPERTIES="amount=25 httpclient4.retrycount=1"  JMeter properties (-J), separated by spaces
about.PROFILE := PROFILE=1                    profile the JVMs of the system: methods, locks, allocations (docs/profile.md)
about.TRACE := TRACE=1                      give each HTTP request a W3C traceparent; its id is in the JTL and the report
about.LIVE := LIVE=1                       a page with the current values: on this machine; LIVE=8089 names its port, LIVE=0.0.0.0:8090 is for everybody with its token
about.METRICS := METRICS=1                    metrics for Prometheus at http://127.0.0.1:9464/metrics while runs last; or a port, or IP:port
about.OTLP := OTLP=http://127.0.0.1:4318   send metrics, and spans of traced runs, to an OpenTelemetry receiver (docs/opentelemetry.md)
about.JFR := JFR=shop.jfr                 with TARGET: flight recording of its JVM, for heap, pauses and CPU
about.SET := SET="killbill.plugin_threads=30 amount=25"  settings of the system, properties of the plan (docs/commands.md)
about.ab.SET := SET="plugin_threads=30"     settings and properties of both sides; a side's own are in A or B
about.overload.SET := SET="page_count=1 accept_count=10,1000"  settings and properties; values with commas make variants
about.SURE := SURE=1                       a DOUBTFUL run fails like an INVALID one (exit code 3)
about.compare.SURE := SURE=1                       CANNOT TELL fails like REGRESSED (exit code 1)
about.sweep.USERS := USERS=1,5,10,25              the levels; one number for levels of SET (default: the plan's)
about.sweep.SET := SET="plugin_threads=10,30,60"  settings and properties; the values of one of them are the levels
about.REPEAT := REPEAT=3                     runs per level, in rounds (default: 1)
about.LEVEL_DURATION := LEVEL_DURATION=80            duration of each level; the same as DURATION
about.overload.LEVEL_DURATION := LEVEL_DURATION=30            duration of each level, 10 s or more (default: 30)
about.LEVEL_REQUESTS := LEVEL_REQUESTS=1000000       end each level after about this many samples; the same as REQUESTS
about.FRESH := FRESH=1                      restart the system before each level
about.WARMUP := WARMUP=30s                   length of an uncounted run before the first level; 0 for none
about.RESUME := RESUME=07                    resume sweep-07; repeating the command without NEW=1 also resumes it while the code is unchanged
about.nightly.RESUME := RESUME=1                     resume the last nightly run; repeating the command on the same day also resumes it
about.NEW := NEW=1                        start a new one, although one with these settings is unfinished
about.compare.NEW := NEW=run-07_2                 runs of the contender, as in BASE
about.release.NEW := NEW=folio-checkin/sweep-02      sweep of the release; Goldenrod=folio-checkin/sweep-02 names it (required)
about.FROM := FROM=1                       users of the first run (default: 1, or 1 for each of several loads)
about.MOST := MOST=400                     the largest number of users to try
about.SUITE := SUITE=env/nightly.toml       the loads to run (default: env/nightly.toml)
about.notify.SUITE := SUITE=env/nightly.toml       suite whose [notify] lists the recipients (default: env/nightly.toml)
about.notify.ENV := ENV=local                    profile whose [notify] lists the recipients
about.notify.RUN := RUN=2026-11-21               nightly run or A/B test whose message is sent again (default: a test message)
about.notify.DRY_RUN := DRY_RUN=1                    print message and recipients; send nothing
about.DRY_RUN := DRY_RUN=1                    check the suite and print the order of the runs; start nothing
about.RUN := RUN="run-07_1 run-07_2"      runs; PLAN/NAME when several plans have a run of that name (default: all)
about.report.RUN := RUN=killbill-stripe/run-01_1  the run whose report is written again (required)
about.export.RUN := RUN=killbill-stripe/run-01_1  the run to export (required)
about.metrics.RUN := RUN=killbill-stripe/run-01_1  the runs or the sweep (required)
about.pin.RUN := RUN=run-07_1                 the run to pin (default: list the pins)
about.AS := AS=baseline                  name of the pin (default: baseline)
about.REMOVE := REMOVE=baseline              remove this pin
about.RUNS := RUNS="gen1/run-01_1 gen2/run-01_1"  the runs to merge (required)
about.INTO := INTO=reports/…/run-02_1      folder of the merged run (default: the next free name)
about.export.INTO := INTO=folder                 folder of the files (default: export/ in the folder of the run)
about.FORMAT := FORMAT=csv                  csv (default), parquet or openmetrics
about.BASE := BASE=run-07_1                runs of the baseline: one or several, pins, patterns such as run-07_*, or a sweep
about.run.BASE := BASE=run-07_1                compare with this run, pin or report (default: the previous run and the pins)
about.soak.BASE := $(about.run.BASE)
about.release.BASE := BASE=folio-checkin/sweep-01     sweep of the earlier release, likewise (required)
about.LONG := LONG=folio-checkin/run-03_1     a longer run of the release, for the growth of memory
about.TEMPLATE := TEMPLATE=ptf                layout of the page (default: ptf)
about.COMPARE := COMPARE=0                    compare the run with nothing
about.THRESHOLD := THRESHOLD="p95=20%"          the smallest relevant change (default: the plan's)
about.LABEL := LABEL="Capture Payment"      label (default: TOTAL)
about.compare.LABEL := LABEL="Payment$$"             only labels that match this pattern (default: all)
about.accept.LABEL := LABEL="Capture Payment"      only for this label (default: all)
about.ANYWAY := ANYWAY=1                     also judge runs that are DOUBTFUL, or differ in users, plan or duration
about.METRIC := METRIC=p90                   average, median, p75, p90, p95, p99, throughput or errors
about.LAST := LAST=20                      only the newest runs
about.SINCE := SINCE=2026-11-01             only runs since this day
about.accept.SINCE := SINCE=2026-11-20             the first nightly run with the change (required)
about.REASON := REASON="why"                 why the change is intended (required)
about.accept.PLAN := PLAN=killbill-stripe         the plan whose metrics changed (required)
about.accept.ENV := ENV=local                    only for this profile (default: all)
about.accept.USERS := USERS=10                     only for this number of users (default: all)
about.history.USERS := USERS=50                     only runs with this number of users
about.report.PLAN := PLAN=killbill-stripe         plan of a run that is given without one
about.compare.PLAN := $(about.report.PLAN)
about.pin.PLAN := PLAN=killbill-stripe         plan of a run or pin that is given without one
about.export.PLAN := $(about.report.PLAN)
about.metrics.PLAN := $(about.report.PLAN)
about.metrics.ENV := ENV=folio                    use [cloudwatch] of this profile instead of the run's own
about.pull.PLAN := PLAN=killbill-stripe         only runs of this plan
about.ls.PLAN := $(about.pull.PLAN)
about.push.ENV := ENV=lab                      profile whose [storage] names the folder in S3, without S3=…
about.pull.ENV := ENV=lab                      only runs of this profile; its [storage] names the folder in S3
about.ls.ENV := $(about.pull.ENV)
about.FIGURES_ONLY := FIGURES_ONLY=1               only run.json, summary and report, without samples
about.VERIFY := VERIFY=1                     compare the objects of each run with what was pushed
about.REPLACE := REPLACE=1                    replace reports in S3 that were written again here
about.RESULT := RESULT=reports/ab/…/ab-01.md  report of make ab, or a folder with one; without it the comment states: no result
about.REPO := REPO=owner/name               repository (default: that of the CI job)
about.PR := PR=12                       number of the pull request, or OWNER:BRANCH of its head (required)
about.SHA := SHA=0123…                   also set the status of this commit, the one that was measured
about.LINK := LINK=https://…              address of the whole report and its charts
about.CONTEXT := CONTEXT=performance         name of the status and of the comment (default: performance)
about.comment.DRY_RUN := DRY_RUN=1                    print comment and status; send nothing
about.REPORTS := REPORTS=reports              folder of the reports (default: reports)
about.TESTS := TESTS=tests/base/test_units.py  tests to run (default: all)
about.BENCH := BENCH=aggregate              one part of the benchmarks (default: all)

# Values of variables are plain text: from here on make expands nothing in them, from whatever source.
is_given = $(filter-out undefined default file automatic,$(firstword $(origin $(1))))
on_command_line := $(strip $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name))))
as_text = $(if $(call is_given,$(1)),$(eval override export $(1) := $$(value $(1))))
$(foreach name,$(sort $(known) $(on_command_line)),$(call as_text,$(name)))
# A make that a script or a test starts does not inherit them.
MAKEOVERRIDES :=
# Messages of the scripts name these variables instead of options: harness/program.py.
requested := $(or $(MAKECMDGOALS),help)
export MAKE_VARIABLES := $(strip $(foreach target,$(requested),$(takes.$(target))))

define newline


endef
export NEWLINE := $(newline)
# $(call quote,it's) is 'it'\''s': one word for the shell, whatever it contains.
quote = '$(subst $(newline),'"$$NEWLINE"',$(subst ','\'',$(1)))'
# $(call option,users,$(USERS)) is --users='50', or nothing when the value is empty.
option = $(if $(strip $(2)),--$(1)=$(call quote,$(2)))
on := 1 yes on true
off := 0 no off false
# $(call flag,name,value) is --name when the value is on. Other values than on and off are refused below.
flag = $(if $(filter $(on),$(2)),--$(1))
# $(call path,-dash) is './-dash', which is not an option.
path = $(call quote,$(if $(filter -%,$(firstword $(1))),./)$(1))
# $(call quoted,run-07_1 run-08_*) is 'run-07_1' 'run-08_*'.
quoted = $(foreach name,$(1),$(call path,$(name)))
# $(call given,PLAN) is the user's PLAN, and empty for our default.
given = $(if $(call is_given,$(1)),$($(1)))
# $(call names,plans) are the names of the TOML files in plans/.
names = $(sort $(patsubst $(1)/%.toml,%,$(wildcard $(1)/*.toml)))

wrong := $(firstword $(filter-out $(MAKE_VARIABLES) $(always),$(on_command_line)))
takers := $(strip $(foreach target,$(targets),$(if $(filter $(wrong),$(takes.$(target))),$(target))))
near = $(shell $(python) -c 'import sys; from harness.base.config import did_you_mean; \
  print(did_you_mean(sys.argv[1].upper(), sys.argv[2:]))' $(call quote,$(wrong)) $(sort $(known)))
ifneq ($(wrong),)
ifneq ($(takers),)
$(error $(wrong): make $(requested) does not take it; these do: $(takers); nothing was started)
endif
$(error $(wrong): no such variable; $(near)make help VERB lists them; nothing was started)
endif

# --html when HTML is on.
html = $(call flag,html,$(HTML))
# --sure when SURE is on.
sure = $(call flag,sure,$(SURE))

# Compile once and not in every worker, independent of the environment, and do not write into the tree.
pytest = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/build/pycache .venv/bin/python -m pytest

# `make help VERB` and `make VERB HELP=1` explain the variables of VERB; no other recipe is then defined.
is_help = $(and $(filter HELP,$(on_command_line)),$(filter-out $(off),$(HELP)))
topics := $(if $(or $(filter help,$(firstword $(requested))),$(is_help)),$(filter-out help,$(requested)))
ifneq ($(topics),)
explained := $(shell sed -n 's/^\([a-z-]*\):.*## .*/\1/p' Makefile)
unknown := $(filter-out $(explained),$(topics))
starting := check gui run soak sweep capacity overload ab tune system
ifneq ($(unknown),)
$(error $(firstword $(unknown)): no such target; make lists them)
endif
$(requested): explain
	@:

explain:
	$(foreach topic,$(topics),$(call explain,$(topic)))@:

define explain
@sed -n 's/^$(1):.*## /make $(1): /p' Makefile
$(foreach name,$(takes.$(1)),@echo $(call quote,  $(or $(value about.$(1).$(name)),$(value about.$(name))))
)$(if $(filter $(1),$(starting)),@echo 'Plans: $(call names,plans)'
)$(if $(filter $(1),$(starting)),@echo 'Profiles: $(filter-out nightly,$(call names,env))'
)
endef
else

# $(call unclear,run) are the switches of a target whose value is neither on nor off.
unclear = $(foreach name,$(filter-out $(text.$(1)),$(filter $(switches),$(takes.$(1)))),$(if \
  $(or $(filter-out $(on) $(off),$($(name))),$(word 2,$($(name)))),$(name)))
bad := $(firstword $(foreach target,$(requested),$(call unclear,$(target))))
ifneq ($(bad),)
$(error $(bad)=$(strip $($(bad))): neither on nor off; give $(bad)=1 or $(bad)=0; nothing was started)
endif

help: ## list the targets
	@awk '/^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  match($$0, /^[a-z-]+:/) && (about = index($$0, "## ")) \
	    {printf "  make %-15s %s\n", substr($$0, 1, RLENGTH - 1), substr($$0, about + 3)}' Makefile
	@echo
	@echo 'make help VERB (or make VERB HELP=1) explains the variables of a target, as in make help run.'
	@echo 'Plans: $(call names,plans)' | fold -s -w 118
	@echo 'Profiles: $(filter-out nightly,$(call names,env))' | fold -s -w 118

##@ Run

init: ## make a plan of your JMX (or a small new plan) and offer the fixes that a run needs
	@$(if $(call given,PLAN),$(python) scripts/init $(call option,plan,$(PLAN)) $(call option,jmx,$(JMX)) \
	  $(call flag,fix,$(FIX)) $(call flag,force,$(FORCE)),echo 'give PLAN=shop JMX=path/to/shop.jmx' >&2; exit 2)

check: ## lint a plan, run it once with one user, and print each request with its response
	@$(python) scripts/check $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,target,$(TARGET)) \
	  $(call option,port,$(PORT)) $(call option,properties,$(PROPERTIES)) $(call option,limit,$(LIMIT)) \
	  $(call option,html,$(HTML))

gui: ## open a plan in the JMeter GUI, with the harness's JMeter, plugins and properties
	@$(python) scripts/gui $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,target,$(TARGET)) \
	  $(call option,properties,$(PROPERTIES))

# Options of live displays and exports.
followed_options = $(call option,live,$(LIVE)) $(call option,metrics,$(METRICS)) $(call option,otlp,$(OTLP))

# Options of both run and soak.
run_options = $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,users,$(USERS)) \
  $(call option,rate,$(RATE)) $(call option,ramp,$(RAMP)) $(call option,duration,$(DURATION)) \
  $(call option,max,$(MAX)) $(call option,loops,$(LOOPS)) $(call option,requests,$(REQUESTS)) $(call option,target,$(TARGET)) \
  $(call option,port,$(PORT)) $(call option,series,$(SERIES)) $(call option,goal,$(GOAL)) \
  $(call option,base,$(BASE)) $(if $(filter $(off),$(COMPARE)),--compare=0) \
  $(call option,p90,$(P90)) $(call option,average,$(AVERAGE)) $(call option,errors,$(ERRORS)) \
  $(call option,stop,$(STOP)) $(call option,properties,$(PROPERTIES)) $(call option,set,$(SET)) \
  $(call option,note,$(NOTE)) $(call option,s3,$(S3)) $(call option,remotes,$(REMOTES)) $(call option,keys,$(KEYS)) \
  $(call option,jfr,$(JFR)) $(call flag,profile,$(PROFILE)) $(call flag,trace,$(TRACE)) \
  $(followed_options) $(sure) \
  $(call option,reports,$(REPORTS))

run: ## run one load test: start the system (or use TARGET), run JMeter, write the report
	@$(python) scripts/run $(run_options)

soak: ## run a load test of hours and look for leaks: which resources and classes grow, and until when
	@$(python) scripts/run --soak $(run_options)

# Options of both sweep and capacity.
sweep_options = $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,ramp,$(RAMP)) \
  $(call option,duration,$(or $(LEVEL_DURATION),$(DURATION))) $(call option,loops,$(LOOPS)) \
  $(call option,requests,$(or $(LEVEL_REQUESTS),$(REQUESTS))) $(call option,target,$(TARGET)) \
  $(call option,port,$(PORT)) $(call option,goal,$(GOAL)) $(call option,p90,$(P90)) $(call option,average,$(AVERAGE)) \
  $(call option,errors,$(ERRORS)) $(call option,stop,$(STOP)) $(call option,set,$(SET)) \
  $(call option,warmup,$(WARMUP)) $(call option,resume,$(RESUME)) \
  $(call flag,profile,$(PROFILE)) $(call option,jfr,$(JFR)) \
  $(call flag,fresh,$(FRESH)) $(call flag,new,$(NEW)) $(call option,note,$(NOTE)) \
  $(followed_options) $(sure) $(call option,reports,$(REPORTS))

# $(call refused,S3,why,recipe) is the recipe, or an error when that variable has a value: the recipe would ignore it.
refused = $(if $(strip $($(1))),echo '$(2)' >&2; exit 2,$(3))
no_push = a sweep is not pushed by itself: when it is done, make push S3=… RUN="run-07_*"

sweep: ## run a plan at several numbers of users, or values of a setting, and write one report
	@$(call refused,S3,$(no_push),$(python) scripts/sweep $(call option,users,$(USERS)) $(call option,repeat,$(REPEAT)) \
	  $(call option,remotes,$(REMOTES)) $(call option,keys,$(KEYS)) $(sweep_options))

capacity: ## find the largest number of users within the goal
	@$(call refused,REMOTES,a search for the capacity has no REMOTES: make sweep has,$(call refused,S3,$(no_push),$(python) \
	  scripts/capacity $(call option,from,$(FROM)) $(call option,most,$(MOST)) $(sweep_options)))

overload: ## offer 50 % to 200 % of the capacity: does goodput collapse, and when does the system recover?
	@$(python) scripts/overload $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,set,$(SET)) \
	  $(call option,goal,$(GOAL)) $(call option,rate,$(RATE)) $(call option,duration,$(LEVEL_DURATION)) \
	  $(call option,max,$(MAX)) $(call option,target,$(TARGET)) $(call option,note,$(NOTE)) \
	  $(call flag,resume,$(RESUME)) $(call flag,new,$(NEW)) $(followed_options) $(call option,reports,$(REPORTS))

ab: ## is B worse than A? runs both alternately until it is sure: REPORTS/ab/<plan>/ab-01.md
	@$(python) scripts/ab $(call option,a,$(A)) $(call option,b,$(B)) \
	  $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,set,$(SET)) $(call option,users,$(USERS)) $(call option,rate,$(RATE)) \
	  $(call option,ramp,$(RAMP)) $(call option,duration,$(DURATION)) $(call option,requests,$(REQUESTS)) \
	  $(call option,max,$(MAX)) $(call flag,resume,$(RESUME)) $(call flag,new,$(NEW)) $(call flag,profile,$(PROFILE)) $(html) $(sure) $(followed_options) \
	  $(call option,reports,$(REPORTS)/ab)

tune: ## which settings matter? runs a designed experiment: REPORTS/tune/<plan>/tune-01.md
	@$(python) scripts/tune $(call option,set,$(SET)) $(call option,metric,$(METRIC)) \
	  $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,users,$(USERS)) $(call option,rate,$(RATE)) \
	  $(call option,ramp,$(RAMP)) $(call option,duration,$(DURATION)) $(call option,requests,$(REQUESTS)) \
	  $(call option,repeat,$(REPEAT)) $(call option,max,$(MAX)) $(call flag,resume,$(RESUME)) $(call flag,new,$(NEW)) $(followed_options) \
	  $(call option,reports,$(REPORTS)/tune)

system: ## start the system of PLAN and keep it running until Ctrl-C
	@$(python) scripts/system $(call option,plan,$(PLAN)) $(call option,env,$(ENV)) $(call option,port,$(PORT))

generator: ## start a load generator for make run REMOTES=…, until Ctrl-C
	@$(python) scripts/generator $(call option,host,$(HOST)) $(call option,port,$(PORT)) $(call option,env,$(ENV)) \
	  $(call option,keys,$(KEYS))

generator-keys: ## create the keys that load generators and make run share, once
	@$(python) scripts/generator-keys $(call option,keys,$(KEYS))

##@ Results

report: ## write the report of RUN again; its notes are preserved
	@$(if $(strip $(RUN)),$(python) aggregate.py report $(call path,$(RUN)) $(html) $(call option,plan,$(call given,PLAN)) \
	  $(call option,reports,$(REPORTS)),echo 'give RUN=killbill-stripe/run-01_1' >&2; exit 2)

export: ## write the per-second series and histograms of RUN: FORMAT=csv, parquet or openmetrics
	@$(if $(strip $(RUN)),$(python) aggregate.py export $(call path,$(RUN)) $(call option,format,$(FORMAT)) \
	  $(call option,into,$(INTO)) $(call option,plan,$(call given,PLAN)) \
	  $(call option,reports,$(REPORTS)),echo 'give RUN=killbill-stripe/run-01_1' >&2; exit 2)

merge: ## merge the runs of independent load generators: RUNS="gen1/run-01_1 gen2/run-01_1"
	@$(if $(strip $(RUNS)),$(python) aggregate.py report --merge $(call option,reports,$(REPORTS)) \
	  $(call option,into,$(INTO)) $(call quoted,$(RUNS)),echo 'give RUNS="gen1/run-01_1 gen2/run-01_1"' >&2; exit 2)

compare: ## is NEW slower than BASE? writes REPORTS/<plan>/compare-<BASE>-<NEW>.md
	@$(if $(and $(strip $(BASE)),$(strip $(NEW))),$(python) aggregate.py compare --save $(call option,reports,$(REPORTS)) \
	  --base $(call quoted,$(BASE)) --new $(call quoted,$(NEW)) $(call option,label,$(LABEL)) \
	  $(foreach one,$(THRESHOLD),$(call option,threshold,$(one))) $(call option,plan,$(call given,PLAN)) \
	  $(call flag,anyway,$(ANYWAY)) $(html) $(sure),echo \
	  'give BASE=killbill-stripe/run-07_1 NEW=killbill-stripe/run-07_2' >&2; exit 2)

release: ## the page of a release: sweep NEW against sweep BASE, as Markdown, HTML and for Confluence
	@$(if $(and $(strip $(BASE)),$(strip $(NEW))),$(python) aggregate.py release $(call option,base,$(BASE)) \
	  $(call option,new,$(NEW)) $(call option,long,$(LONG)) $(call option,template,$(TEMPLATE)) \
	  $(call flag,anyway,$(ANYWAY)) $(call option,reports,$(REPORTS)),echo \
	  'give BASE=folio-checkin/sweep-01 NEW=folio-checkin/sweep-02' >&2; exit 2)

pin: ## compare every later run with RUN (AS=baseline), list the pins, or REMOVE one
	@$(python) aggregate.py pin $(if $(strip $(RUN)),$(call path,$(RUN))) $(call option,as,$(call given,AS)) \
	  $(call option,remove,$(REMOVE)) $(call option,plan,$(call given,PLAN)) $(call option,reports,$(REPORTS))

summary: ## write REPORTS/SUMMARY.md: all runs of all plans, newest first
	@$(python) aggregate.py summary $(call path,$(REPORTS))

history: ## write a metric of PLAN over time with a chart: REPORTS/PLAN/history-TOTAL-average.md
	@$(python) aggregate.py history $(call path,$(REPORTS)) --save $(call option,plan,$(PLAN)) $(call option,label,$(LABEL)) \
	  $(call option,metric,$(METRIC)) $(call option,users,$(USERS)) $(call option,last,$(LAST))

metrics: ## fetch the CloudWatch metrics of RUN and write its report again
	@$(if $(strip $(RUN)),$(python) aggregate.py metrics $(call quoted,$(RUN)) $(call option,reports,$(REPORTS)) \
	  $(call option,plan,$(call given,PLAN)) $(call option,env,$(call given,ENV)),echo 'give RUN=killbill-stripe/run-01_1' >&2; exit 2)

site: ## write all reports as a static HTML site; open build/site/index.html
	@$(python) aggregate.py site $(call path,$(REPORTS))

comment: ## write RESULT of make ab into pull request PR: one comment, and the status of commit SHA
	@$(if $(strip $(PR)),$(python) aggregate.py comment $(if $(strip $(RESULT)),$(call path,$(RESULT))) \
	  $(call option,repo,$(REPO)) $(call option,pr,$(PR)) $(call option,sha,$(SHA)) $(call option,link,$(LINK)) \
	  $(call option,context,$(CONTEXT)) $(call flag,dry-run,$(DRY_RUN)),echo 'give PR=12' >&2; exit 2)

##@ Nightly

nightly: ## run the loads of SUITE and compare them with earlier nightly runs: REPORTS/nightly/<date>.md
	@$(python) scripts/nightly $(call option,suite,$(SUITE)) $(call option,s3,$(S3)) \
	  $(call flag,dry-run,$(DRY_RUN)) $(call flag,resume,$(RESUME)) $(call flag,new,$(NEW)) $(html) $(sure) $(followed_options) \
	  $(call option,reports,$(REPORTS)/nightly)

accept: ## record an intended change of PLAN since the nightly run of SINCE, with a REASON
	@$(python) aggregate.py accept $(call option,since,$(SINCE)) \
	  $(call option,plan,$(call given,PLAN)) $(call option,env,$(call given,ENV)) \
	  $(call option,users,$(USERS)) $(call option,label,$(LABEL)) $(call option,metric,$(METRIC)) \
	  $(call option,reason,$(REASON)) $(call option,reports,$(REPORTS)/nightly)

notify: ## send a test message to [notify] of SUITE or ENV, or the message about RUN again
	@$(python) aggregate.py notify $(if $(strip $(RUN)),$(call path,$(RUN))) $(call option,suite,$(SUITE)) \
	  $(call option,env,$(call given,ENV)) $(call flag,dry-run,$(DRY_RUN)) $(call option,reports,$(REPORTS))

##@ Storage

stored = $(call quoted,$(RUN)) $(if $(strip $(S3)),$(call path,$(S3))) $(call option,env,$(call given,ENV))
chosen = $(call option,plan,$(call given,PLAN)) $(call option,since,$(SINCE)) $(call option,last,$(LAST))

push: ## upload RUN, or all runs, to S3=s3://bucket/prefix
	@$(python) aggregate.py push $(if $(strip $(RUN)),,all) $(stored) $(call flag,replace,$(REPLACE)) \
	  $(call option,reports,$(REPORTS))

pull: ## download runs from S3=s3://bucket/prefix into REPORTS
	@$(python) aggregate.py pull $(stored) $(chosen) $(call flag,figures-only,$(FIGURES_ONLY)) \
	  $(call option,reports,$(REPORTS))

ls: ## list the runs in S3=s3://bucket/prefix
	@$(python) aggregate.py ls $(stored) $(chosen) $(call flag,verify,$(VERIFY))

##@ Development

setup: ## build .venv and the JMeter home; every other target does it when needed
	@$(python) scripts/setup $(call flag,all,$(ALL))

# pytest returns 5 for "no tests": no error when TESTS names files without tests of this kind, an error for all tests.
or_none = || { [ $$? = 5 ] && [ $(call quote,$(TESTS)) != tests ]; }
tests = $(foreach word,$(TESTS),$(call quote,$(word)))

# One session for both kinds. All tests of a file run on one worker, which starts the system of the file once; so do all
# tests of tests/systems/killbill. There are four workers on two cores: a real test uses a core for a third of its time,
# and waits for the rest.
test: ## run all tests, with real JMeters and real systems (minutes)
	@$(python) scripts/setup --tests
	@$(pytest) -n 4 --dist loadfile --no-loadscope-reorder $(tests)

test-fast: ## run the tests that start no real system (under a minute)
	@$(python) scripts/setup --tests
	@$(pytest) -n 3 --dist worksteal -m 'not real' $(tests) $(or_none)

lint: ## run ruff and mypy
	@$(python) scripts/setup --tests
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy

bench: ## benchmark the harness (scripts/bench --help lists the parts)
	@$(python) scripts/bench $(call quoted,$(BENCH))

clean: ## remove .venv and build/; reports stay
	rm -rf .venv build .pytest_cache .ruff_cache .mypy_cache

endif
