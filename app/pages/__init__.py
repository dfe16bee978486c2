"""The pages of the explorer, a folder each."""
