"""Report formats: for a terminal, a program, a code review, a browser. One file each."""
