"""What all pages of the explorer share."""
