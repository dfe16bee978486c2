"""Commands that train, compare trainings, or estimate what one takes."""
