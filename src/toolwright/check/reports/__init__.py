"""A report as it is read: at a terminal, by a program, by who reviews a change, in a browser. One file each."""
