"""Model runs for the pages: cached, queued, and shared by all sessions."""
