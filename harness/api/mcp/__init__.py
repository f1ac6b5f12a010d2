"""A server of the Model Context Protocol: results with their verdicts for programs that read and decide."""
