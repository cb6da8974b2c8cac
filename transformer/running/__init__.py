"""The translator, and the runs that it executes, such as translations, traces, scores and attributions."""
