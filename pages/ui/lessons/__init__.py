"""Parts of the Lessons page. The lessons themselves and their claims are in `transformer.lessons`."""
