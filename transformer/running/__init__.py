"""The translator, and the runs (requests) that it answers: translations, traces, scores and attributions."""
