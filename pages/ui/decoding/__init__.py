"""What the page of decoding is made of."""
