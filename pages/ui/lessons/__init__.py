"""Parts of the "Lessons" page. `transformer.lessons` reads the lesson files and checks their claims."""
