"""The sql tools: query a database and, where the operator allows it, change it.

SQLite and DuckDB are files; PostgreSQL, MySQL and MariaDB are reached by URL. Each call has a connection of its own, so
session state never carries over to the next call.
"""

from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.sql_tools import Database, toolset
from tooltrue_toolbox.sql.values import SqlLimits

__all__ = ["Access", "Database", "SqlLimits", "toolset"]
