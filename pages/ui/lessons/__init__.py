"""The page of lessons; what a lesson is, and what it may claim, is in `transformer.lessons`."""
