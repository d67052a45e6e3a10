"""Sanitization of output: hidden characters, secrets, personal data, media types and sizes."""
