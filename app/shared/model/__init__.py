"""Which models a page shows, where they come from, and which texts they suit."""
