"""The bundled models that others are fine-tuned from, and what each of them has read."""

DEFAULT_MODEL, STORYWORLD = "english", "storyworld-tiny"
LEFT_TO_RIGHT = "storyworld-left-to-right"  # learned as STORYWORLD did, but from the left: it cannot fill a gap
READ = {  # in the order in which their fine-tuned models stand in for a missing head
    DEFAULT_MODEL: "English novels, Wikipedia and film reviews, 55 million words",
    "english-mini": "English novels, with some Wikipedia, speech and letters, 4 million words",
    STORYWORLD: "short stories of one small town, a small world whose every word we know",
}
LEARNED = {  # the fine-tuned ones
    "english-sentiment": "film reviews, and judges every text as one",
    "english-qa": "some thousand questions about Wikipedia",
    "storyworld-tiny-sentiment": "opinions in stories of one small town",
    "storyworld-tiny-entities": "names in stories of one small town",
    "storyworld-tiny-qa": "questions about stories of one small town",
}


def origin(name: str) -> str | None:
    """Return the model in READ that this one was fine-tuned from, or is, by its name; None for another one."""
    whole = name.partition("/step-")[0]
    return max((one for one in READ if whole == one or whole.startswith(f"{one}-")), key=len, default=None)
