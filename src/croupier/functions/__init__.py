"""How a function of the user is called: all points at once, one by one, compiled, or a program."""
