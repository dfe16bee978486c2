"""The rows of a training as TensorBoard shows them."""

from collections.abc import Callable
from pathlib import Path


def tensorboard_log(folder: Path, after: int) -> Callable[[dict[str, float]], None]:
    """A receiver of rows that writes them to `folder`/tensorboard, where what an earlier try wrote of the steps past
    `after` is no longer shown.
    """
    from lightning_fabric.loggers import TensorBoardLogger

    logger = TensorBoardLogger(folder, name="", version="tensorboard", purge_step=after + 1)

    def log(row: dict[str, float]) -> None:
        logger.log_metrics({name: value for name, value in row.items() if name != "step"}, int(row["step"]))
        logger.save()

    return log
