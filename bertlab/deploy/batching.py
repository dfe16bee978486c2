"""Predictions for many threads at once: what waits while the model computes becomes the next batch."""

import copy
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from bertlab.errors import InputError
from bertlab.model.base import PretrainedModel
from bertlab.predict import check_names, check_texts
from bertlab.tasks.base import Given, Task

MOST = 64  # examples that are predicted together

Work = Callable[[list], list]  # examples -> their predictions


@dataclass
class Queued:
    """The examples of a waiting request; those with the same `key` may be predicted together, by the `work` of any."""

    key: Any
    work: Work
    examples: list
    done: Future = field(default_factory=Future)


class Batcher:
    """One thread that computes for all others. While it does, their requests wait; then it takes all that wait."""

    def __init__(self, most: int = MOST):
        self.most = most
        self.waiting: SimpleQueue[Queued | None] = SimpleQueue()
        self.thread = Thread(target=self._work, name="model", daemon=True)
        self.thread.start()

    def result(self, key: Any, work: Work, examples: list) -> list:
        """Return work(examples), computed together with other requests of this key. Raises what `work` raises."""
        request = Queued(key, work, examples)
        self.waiting.put(request)
        return request.done.result()

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        self.waiting.put(None)
        self.thread.join()

    def _work(self) -> None:
        while (first := self.waiting.get()) is not None:
            requests = sorted([first, *self._others()], key=lambda request: request.key)
            for _, alike in groupby(requests, key=lambda request: request.key):
                predict_together(list(alike))

    def _others(self) -> Iterator[Queued]:
        """Yield what waits, `most` requests with the first one at most."""
        for _ in range(self.most - 1):
            try:
                request = self.waiting.get_nowait()
            except Empty:
                return
            if request is None:
                self.waiting.put(None)  # the end, once this batch is done
                return
            yield request


def predict_together(requests: list[Queued]) -> None:
    """Give each request its predictions or its error; where one of several fails, each is computed alone."""
    try:
        found = iter(requests[0].work([example for request in requests for example in request.examples]))
        results = [[next(found) for _ in request.examples] for request in requests]
    except BaseException as error:
        if len(requests) == 1:
            requests[0].done.set_exception(error)
            return
        for request in requests:
            predict_together([request])
        return
    for request, result in zip(requests, results, strict=True):
        request.done.set_result(result)


class TaskPredictor:
    """What bertlab.predict.predict_one gives for one input after another, from many threads."""

    def __init__(self, name: str, model: PretrainedModel, task: Task, batcher: Batcher):
        self.name, self.model, self.task, self.batcher = name, model, task, batcher

    def __call__(self, given: Given, top: int) -> list[dict]:
        """Return the rows of Task.predict_given. InputError as for predict_one."""
        check_names(self.task, self.name, given)
        check_texts(self.task.tokenizer, given)
        task = copy.copy(self.task)  # of this request alone: predict_given may set what to look for

        def predict(model: PretrainedModel, examples: Iterable) -> Iterator:
            def work(together: list) -> list:
                return list(type(task).predict(task, model, together))

            return iter(self.batcher.result(top, work, list(examples)))

        task.predict = predict  # type: ignore[method-assign]
        return task.predict_given(self.model, given, top)


def one_line(error: InputError) -> str:
    """Return the message without the dashes of options, which a request does not have."""
    return str(error).replace("--", "")
