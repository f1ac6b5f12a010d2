"""The command that prints the statements of a PostgreSQL, as its extension pg_stat_statements sums them up.

A server may be shared, so nothing in it is reset: a run takes the difference of two such tables.
"""

from __future__ import annotations

from harness.system.system import StatementCommands

# The name of the database in the report and of its files.
NAME = "postgresql"
_CONNECT_TIMEOUT_S = 10
# The columns of times have other names since PostgreSQL 13. Statements that set a password are left out.
_QUERY = r"""
SELECT regexp_replace(query, '\s+', ' ', 'g') AS statement, sum(calls) AS count,
  sum(coalesce(used ->> 'total_exec_time', used ->> 'total_time')::float8) AS total_ms,
  max(coalesce(used ->> 'max_exec_time', used ->> 'max_time')::float8) AS longest_ms,
  sum(shared_blks_hit + shared_blks_read) AS page_count
FROM (SELECT s.*, to_jsonb(s) AS used FROM pg_stat_statements s) s
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND query NOT LIKE '%pg_stat_statements%' AND query !~* '^\s*(create|alter)\s+(user|role)'
GROUP BY 1
"""


def statement_commands(url: str, password: str = "") -> StatementCommands:
    """Return the command for a database; psql finds a password that is not given in PGPASSWORD or ~/.pgpass."""
    read = (
        *("psql", "--no-psqlrc", "--no-password", "--quiet", "--no-align", "--field-separator=\t"),
        *("--pset=footer=off", "--set=ON_ERROR_STOP=1", "--set=VERBOSITY=terse"),
        *(f"--command={' '.join(_QUERY.split())}", url),
    )
    environment = {
        "PGCONNECT_TIMEOUT": str(_CONNECT_TIMEOUT_S),
        "PGOPTIONS": "-c statement_timeout=20s -c client_min_messages=error",
        "PGAPPNAME": "load-test",
        **({"PGPASSWORD": password} if password else {}),
    }
    return StatementCommands((), read, environment, snapshot=read)
