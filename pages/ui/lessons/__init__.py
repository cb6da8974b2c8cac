"""The "Lessons" page. The lessons and the claims that they make are in `transformer.lessons`."""
