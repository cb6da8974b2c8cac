"""The "Lessons" page. The lessons and their claims are defined in `transformer.lessons`."""
