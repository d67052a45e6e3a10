"""The sql tools: what is in a database, read by queries and, where the operator wants it, changed.

SQLite and DuckDB are files, PostgreSQL and MySQL or MariaDB are reached by URL. Each call has a connection of its own:
nothing that one does to its session is there for the next.
"""

from toolwright.toolbox.sql.access import Access
from toolwright.toolbox.sql.tools import Database, toolset
from toolwright.toolbox.sql.values import SqlLimits

__all__ = ["Access", "Database", "SqlLimits", "toolset"]
