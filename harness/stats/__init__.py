"""What is said of several runs: comparisons, sweeps over users, histories. Pure: results in, findings out."""
