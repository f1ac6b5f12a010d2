"""What runs cost, and what they find, on real systems."""
