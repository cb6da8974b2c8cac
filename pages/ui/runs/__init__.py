"""Runs of the models for the pages: cached, one at a time, shared by all sessions."""
