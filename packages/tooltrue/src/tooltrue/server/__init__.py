"""Serves a provider to stateless and session-based clients. Knows no policy: the provider it is given is guarded
already.
"""
