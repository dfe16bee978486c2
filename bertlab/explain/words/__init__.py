"""What a model says of masked words, of whole sentences and of the next one."""
