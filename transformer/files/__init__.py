"""Files and memory: where files lie, how they are read within bounds and written as a whole."""
