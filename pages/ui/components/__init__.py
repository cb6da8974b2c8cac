"""Components of JavaScript, and the bytes that they receive."""
