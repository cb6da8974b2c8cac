"""Charts and tables that several pages share."""
