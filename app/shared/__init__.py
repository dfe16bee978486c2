"""What all pages of the explorer share: `model`, `text` and `page`, and two views that several of them show."""
