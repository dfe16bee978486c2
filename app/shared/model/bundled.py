"""The bundled models that others are fine-tuned from, what each of them has read, and known models of the hub."""

DEFAULT_MODEL, STORYWORLD = "english", "storyworld-tiny"
# Models that read the same texts from the left alone; those cannot fill a gap.
LEFT_TO_RIGHT = {DEFAULT_MODEL: "english-left-to-right"}
READ = {  # in the order in which their fine-tuned models stand in for a missing head
    DEFAULT_MODEL: "a billion pairs of sentences as the published all-MiniLM-L6-v2, then novels, Wikipedia and film "
    "reviews, 55 million words",
    "english-scratch": "English novels, Wikipedia and film reviews, 55 million words",
    STORYWORLD: "short stories of one small town, a small world whose every word we know",
}
LEARNED = {  # the fine-tuned ones
    "english-sentiment": "film reviews and opinions of what people buy, use and visit",
    "english-questions": "some sixty thousand questions, most of them about Wikipedia",
    "english-names": "persons, places and organisations in texts of the web",
    "english-pairs": "pairs of sentences: the second follows, contradicts the first, or neither",
    "english-next": "which sentence follows another in novels, Wikipedia and film reviews",
    "storyworld-tiny-sentiment": "opinions in stories of one small town",
    "storyworld-tiny-entities": "names in stories of one small town",
    "storyworld-tiny-qa": "questions about stories of one small town",
}
SPECIALISTS = {  # head that a page needs -> the fine-tuned model with it, by the one in READ that it began as
    "next sentence": {DEFAULT_MODEL: "english-next", STORYWORLD: STORYWORLD},
    "answer": {DEFAULT_MODEL: "english-questions", STORYWORLD: "storyworld-tiny-qa"},
    "text label": {DEFAULT_MODEL: "english-sentiment", STORYWORLD: "storyworld-tiny-sentiment"},
    "pairs": {DEFAULT_MODEL: "english-pairs"},
    "word labels": {DEFAULT_MODEL: "english-names", STORYWORLD: "storyworld-tiny-entities"},
}
HUB = {  # published BERTs, one press away
    "google-bert/bert-base-uncased": "the first BERT",
    "csarron/bert-base-uncased-squad-v1": "answers questions (SQuAD)",
    "textattack/bert-base-uncased-SST-2": "judges opinions (SST-2)",
    "google-bert/bert-base-chinese": "reads Chinese",
}


def origin(name: str) -> str | None:
    """Return the model in READ that this one was fine-tuned from, or is, by its name; None for another one."""
    whole = name.partition("/step-")[0]
    return max((one for one in READ if whole == one or whole.startswith(f"{one}-")), key=len, default=None)


def specialist(task: str, base: str | None) -> str | None:
    """Return the bundled model made from `base` that has the head for this task; `base` itself where none is needed."""
    return SPECIALISTS[task].get(base or "") if task in SPECIALISTS else base
