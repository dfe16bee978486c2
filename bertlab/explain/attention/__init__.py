"""What attention heads do, and what they are good for."""
