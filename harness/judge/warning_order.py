"""The order of warnings by weight, as a run's are listed: what makes the numbers most wrong is first."""

# A warning that is not here comes behind them.
ORDER = (
    # The load did not run as requested.
    "stopped-early",
    "asked-offered",
    # Rows or their times are wrong.
    "clock-step",
    "appended",
    "long-span",
    "offered-read",
    "not-in-file",
    # The load generators were not what they seem.
    "heap-dump",
    "generator-stopped",
    "generator-cpu",
    "few-parts",
    "users-time",
    "slow-generator",
    "failing-generator",
    "clocks-apart",
    "unwatched-generator",
    "separate-clocks",
    # The machine did other work as well.
    "other-run",
    "stolen-cpu",
    "other-cpu",
    "host-cpu",
    "cpu-quota",
    "generator-delay",
    "profile-cost",
    # Failures count as answers, or the system did not stay the same.
    "many-errors",
    "errors-in-figures",
    "stall",
    "pause",
    "load-paused",
    "throttled",
    "one-state",
    "read-counted",
    "same-work",
    "growth",
    "consumer-lag",
    # There is too little of everything.
    "too-short",
    "too-few-samples",
    "few-samples",
    "coarse-clock",
    "alike-labels",
    "numbered-labels",
    "late-end",
    "unexpected-success-code",
    "plan",
    "one-side-profiled",
    "closed-model",
)
