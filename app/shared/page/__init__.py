"""How a page looks, what its address remembers, and what it gives away."""
