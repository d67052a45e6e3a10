"""What `bench/run.py` is made of. Knows the wire, starts servers, measures; imports neither tooltrue nor its peer."""
