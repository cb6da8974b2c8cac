"""Attribution: measures which tokens and words mattered for a prediction, with one file per method."""
