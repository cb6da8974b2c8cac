"""The page Lessons; `transformer.lessons` defines lessons and their claims."""
