"""A client of servers of either era, on any carrier."""
