"""The task families of the paper: what each reads, what its head's scores mean, how good they are."""
