"""`python -m bertlab`, and under torchrun: `torchrun --nproc-per-node 2 -m bertlab pretrain ...`."""

from bertlab.cli.main import main

if __name__ == "__main__":
    main()
