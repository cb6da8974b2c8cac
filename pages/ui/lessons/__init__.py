"""The Lessons page; `transformer.lessons` defines lessons and their claims."""
