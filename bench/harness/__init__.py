"""What `bench/run.py` is made of. Knows the wire, starts servers, measures; imports neither toolwright nor its peer."""
