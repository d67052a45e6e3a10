"""A client for servers of either era, over any transport."""
