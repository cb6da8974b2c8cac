"""Files and memory: paths, bounded reading, atomic writing, and limits of memory."""
