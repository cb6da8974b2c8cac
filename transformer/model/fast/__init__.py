"""What makes the model fast on a CPU. Nothing here changes what it computes, but for the order of summation."""
