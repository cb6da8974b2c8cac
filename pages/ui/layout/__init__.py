"""The roles of what a page draws; from them follows what is shown where one figure fills the screen."""
