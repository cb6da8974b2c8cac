"""Parts of the "Long texts" page, which shows the cost of attention for long texts."""
