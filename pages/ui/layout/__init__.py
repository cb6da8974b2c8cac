"""The roles of what a page draws; they decide what is shown when one figure fills the screen."""
