"""Model folders: read, written, sealed and listed, for both kinds of model."""
