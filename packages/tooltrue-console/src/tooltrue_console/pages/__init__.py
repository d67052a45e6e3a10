"""The pages of the console; the navigation is the list in ``navigation.py``."""
