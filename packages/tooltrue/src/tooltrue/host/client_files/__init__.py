"""The configuration files of clients, and edits of them that leave everything else as it is."""
