"""A client for stateless and session-based servers, over any transport."""
