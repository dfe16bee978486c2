"""Predictions over HTTP: POST /predict, GET /health, and their description at /docs and /openapi.json."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bertlab.config import classes_of
from bertlab.deploy.batching import Batcher, TaskPredictor, one_line
from bertlab.errors import InputError, printable, require
from bertlab.io.locate import locate
from bertlab.tasks.base import Given

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic import BaseModel

MOST_TOP = 100
BYTES_A_CHARACTER = 12  # a character beyond the basic plane, escaped in JSON: \\ud83d\\ude00
ABOUT = {
    "text": "The text.",
    "pair": "The second text of a pair.",
    "choices": "Continuations of the text to choose from.",
    "question": "The question.",
    "passage": "The text that holds the answer.",
}

NO_OBJECT = {  # kinds of pydantic's errors that name no input
    "json_invalid": "the request is no JSON",
    "model_attributes_type": "send a JSON object, with Content-Type: application/json",
}

Predict = Callable[[Given, int], list[dict]]


def open_predictor(name: str, batcher: Batcher) -> tuple[Predict, tuple[tuple[str, ...], ...]]:
    """Return what predicts for one input with a model, and the inputs that it takes: any of these groups of names.

    InputError: the model has no head that predicts anything.
    """
    from bertlab.tasks.registry import family_of, open_task

    if family_of(name):
        model, task = open_task(name, device="auto")
        return TaskPredictor(name, model, task, batcher), task.given
    if not {"BertForPreTraining", "BertForMaskedLM"} & set(classes_of(locate(name))):
        raise InputError(f"{name} has no head that predicts: fine-tune it first (bertlab finetune)")
    return masked_words(name, batcher), (("text",),)


def masked_words(name: str, batcher: Batcher) -> Predict:
    """Return what fills in each [MASK] of a text, as bertlab.predict.fill_in does."""
    from bertlab.predict import fill_rows, open_masked
    from bertlab.tokenizer import Tokenizer

    model, tokenizer = open_masked(name), Tokenizer.from_pretrained(name)

    def predict(given: Given, top: int) -> list[dict]:
        def work(texts: list[str]) -> list:
            return [fill_rows(model, tokenizer, text, top) for text in texts]

        return batcher.result(top, work, [given["text"]])[0]

    return predict


def create_app(name: str, max_characters: int, rate: int) -> "FastAPI":
    """Return the service of a model as an ASGI application.

    A request of more than `max_characters` is refused with 413; of more than `rate` a minute from one address (0: any
    number) with 429. Other bad input is a 400 or 422. Each has one line: {"error": ...}.
    """
    for module in ("fastapi", "fastapi_offline", "limits", "uvicorn"):
        require(module, "serve")
    from fastapi_offline import FastAPIOffline  # its page of the API needs no network

    from bertlab.deploy.limits import Limits

    batcher = Batcher()
    predict, forms = open_predictor(name, batcher)

    @asynccontextmanager
    async def lifespan(app: "FastAPI") -> AsyncIterator[None]:
        yield
        batcher.close()

    app = FastAPIOffline(title=f"bertlab: {name}", description=described(forms), lifespan=lifespan, redoc_url=None)
    app.add_middleware(Limits, most_bytes=max_characters * BYTES_A_CHARACTER + 1000, rate=rate)
    add_error_answers(app)
    Input, Output = schemas(forms)

    @app.post("/predict", response_model=Output)
    def prediction(input: Input) -> dict[str, Any]:  # type: ignore[valid-type]  # not async: it waits in a thread
        given = input.model_dump(exclude_none=True)  # type: ignore[attr-defined]
        top = given.pop("top")
        check_length(given, max_characters)
        return {"predictions": predict(given, top)}

    @app.get("/health")
    async def health() -> dict[str, str]:  # async: it answers even where all threads wait
        return {"status": "ok", "model": name}

    return app


def add_error_answers(app: "FastAPI") -> None:
    """Answer bad input with one line that says what is wrong."""
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    @app.exception_handler(InputError)
    def bad_input(request: object, error: InputError) -> JSONResponse:
        return JSONResponse({"error": one_line(error)}, 413 if isinstance(error, TooLong) else 400)

    @app.exception_handler(RequestValidationError)
    def bad_request(request: object, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"error": printable(NO_OBJECT.get(first["type"]) or f"{place}: {first['msg']}")}, 422)

    @app.exception_handler(HTTPException)
    def no_such_page(request: object, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)


class TooLong(InputError):
    """More text than the service takes."""


def check_length(given: Given, most: int) -> None:
    """Raise TooLong for more characters, in all texts of a request together."""
    count = sum(len(text) for value in given.values() for text in ([value] if isinstance(value, str) else value))
    if count > most:
        raise TooLong(f"{count:,} characters; this service takes {most:,} at most")


def schemas(forms: tuple[tuple[str, ...], ...]) -> tuple["type[BaseModel]", "type[BaseModel]"]:
    """Return the classes of a request, with just the inputs that the model takes, and of an answer."""
    from pydantic import BaseModel, ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for name in dict.fromkeys(name for form in forms for name in form):
        kind: Any = tuple[str, ...] if name == "choices" else str
        needed = all(name in form for form in forms)
        about = Field(... if needed else None, description=ABOUT[name])
        fields[name] = (kind if needed else kind | None, about)
    fields["top"] = (int, Field(5, ge=1, le=MOST_TOP, description="How many alternatives to return."))
    request = create_model("Input", __config__=ConfigDict(extra="forbid", strict=False), **fields)

    class Output(BaseModel):
        predictions: list[dict[str, Any]]

    return request, Output


def described(forms: tuple[tuple[str, ...], ...]) -> str:
    """Return what a client sends."""
    return f"POST /predict with {', or '.join(' and '.join(form) for form in forms)}; the answer is `predictions`."


def serve(app: "FastAPI", host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C; requests under way are answered first. InputError: the port cannot be had."""
    import socket

    import uvicorn

    try:
        listening = socket.create_server((host, port))
    except OSError as error:
        raise InputError(f"--host {host} --port {port}: cannot be had ({error.strerror}); choose another") from error
    with listening:
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
