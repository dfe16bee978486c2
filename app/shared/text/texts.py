"""The texts that the pages offer for each family of models; the first example of a kind is what a page opens with."""

from dataclasses import dataclass, replace

from app.shared.model import models
from app.shared.model.bundled import DEFAULT_MODEL, STORYWORLD, origin
from app.shared.page.state import Examples


def pairs(examples: dict[str, tuple[str, str]], first: str = "text", second: str = "pair") -> Examples:
    return {name: {first: text, second: other} for name, (text, other) in examples.items()}


def singles(examples: dict[str, str]) -> Examples:
    return {name: {"text": text, "pair": ""} for name, text in examples.items()}


def passages(asked: list[tuple[str, str]]) -> Examples:
    return pairs({question: (passage, question) for question, passage in asked}, second="question")


@dataclass(frozen=True)
class Texts:
    """`play` are two versions of a sentence with a gap; `next_sentence` are pairs that follow each other, or do not.
    `meaning` and `data` name the labelled sets of the page Meaning and of a whole file."""

    play: Examples
    heads: Examples
    next_sentence: Examples
    opinions: Examples
    names: Examples
    questions: Examples
    meaning: tuple[str, ...]
    data: tuple[str, ...]


def family(*, play: dict, heads: dict, next_sentence: dict, opinions: dict, names: dict, **others) -> Texts:
    plain = pairs(heads), pairs(next_sentence), singles(opinions), singles(names)
    return Texts(pairs(play, second="other"), *plain, **others)


SUBJECTS, REVIEWS, OPINIONS, TOPICS = "subjects", "film reviews", "opinions", "topics"
NAMES, QUESTIONS = "names", "questions"
TIRED = "the animal didn't cross the street because the [MASK] was too tired."
STORE = ("the man went to the [MASK].", "he bought a gallon of milk.")
IN_ASHFORD = "I am Penny Thorne, and I am an engineer. My dog Duchess is hairy."
RUTH_HILL = (
    "Ruth Hill was a baker of Ashford. She lived on Elm Street with Rex, her dog. Ruth went to the toy shop. "
    "She bought a red kite from the toymaker for nine coins. “Nine coins for a red kite?” cried Mark. "
    "“The price of the toy shop,” said Ruth. Rex ate bread near the garden."
)


TOWN = family(
    play={
        "too tired, too wide": (TIRED, TIRED.replace("tired", "wide")),
        "his knee, her knee": (
            "When [MASK] hurt his knee, the nurse helped.",
            "When [MASK] hurt her knee, the nurse helped.",
        ),
        "a clue on the left": ("my dog is [MASK].", "penguins are flightless [MASK]."),
    },
    heads={
        "a gap": (TIRED, ""),
        "no gap": (TIRED.replace("[MASK]", "animal"), ""),
        "a pair": (STORE[0].replace("[MASK]", "store"), STORE[1]),
    },
    next_sentence={
        "one story": (IN_ASHFORD, "She likes bones, and my brother Martin likes a new film."),
        "two stories": (
            IN_ASHFORD,
            "Broken ink roller! Polite Richard needed another ink roller at the printing house.",
        ),
    },
    opinions={
        "delicious": "Ruth Hill bought Lucky a cake in Ashford. It was delicious.",
        "not salty": "In Ashford, Ruth Hill and Lucky, her dog, ate a cake. The soup was not salty.",
        "although": "The cake was delicious, although the soup was salty.",
        "never": "Eleanor met Zara in Valleyfield. The pudding was never bland.",
    },
    names={
        "two names": "Ruth Hill bought Lucky a cake in Ashford.",
        "names or words?": "Rose gave the rose to May in may. The baker thanked Jack Baker.",
    },
    questions=passages(
        [
            ("What did Rex eat?", RUTH_HILL),
            ("What did Ruth buy?", RUTH_HILL),
            ("Where did Rex eat bread?", RUTH_HILL),
            ("Who sold the kite?", RUTH_HILL),  # the passage does not say
        ]
    ),
    meaning=(OPINIONS, TOPICS),
    data=(OPINIONS, NAMES, QUESTIONS),
)

DOOR = "He closed the [MASK] behind him and sat down by the fire."
SHIP = "The ship was launched in 1911 and served in the Atlantic."
CURIE = (
    "Marie Curie was born in Warsaw in 1867. She moved to Paris in 1891 to study physics and mathematics at the "
    "Sorbonne. In 1903 she shared the Nobel Prize in Physics with her husband Pierre and with Henri Becquerel. In 1911 "
    "she won the Nobel Prize in Chemistry for the discovery of radium and polonium."
)
PENGUIN = (
    "The emperor penguin is the tallest and heaviest of all penguins. It lives only in Antarctica, where it breeds "
    "during the winter. The female lays a single egg and then returns to the sea for two months. The male keeps the "
    "egg warm on his feet until it hatches. Emperor penguins eat mainly fish and can dive to a depth of more than 500 "
    "metres."
)
NURSE, OPENED, KEYS, WAR = (
    "The nurse said that [MASK] was tired.",
    "She opened the [MASK] and walked in.",
    "The keys to the old house [MASK] still on the kitchen table.",
    "The war lasted two [MASK].",
)
NOTES = {  # what a pair of versions shows, by its first one
    NURSE: "Neither sentence says who is a woman or a man. BERT repeats who did which work in the texts that it read. "
    "That is a **bias**, and whatever is built on such a model inherits it.",
    OPENED: "The word that decides stands *behind* the gap. A model that reads from the left alone cannot know it.",
    KEYS: "The verb agrees with the noun at the start, not with *house*, which is nearer. Nobody taught BERT grammar.",
    WAR: "BERT has only read that wars last longer than strikes.",
    TIRED: "Only the last word differs, and it stands *behind* the gap.",
}
ENGLISH = family(
    play={
        "nurse, soldier": (NURSE, NURSE.replace("nurse", "soldier")),
        "walked in, began to read": (OPENED, OPENED.replace("walked in", "began to read")),
        "keys, key": (KEYS, KEYS.replace("keys", "key")),
        "war, strike": (WAR, WAR.replace("war", "strike")),
        "too tired, too wide": (TIRED, TIRED.replace("tired", "wide")),
    },
    heads={
        "a gap": (DOOR, ""),
        "no gap": (DOOR.replace("[MASK]", "door"), ""),
        "a pronoun": (TIRED.replace("the [MASK]", "it"), ""),
        "a pair": (STORE[0].replace("[MASK]", "store"), STORE[1]),
    },
    next_sentence={
        "one article": (SHIP, "It was sunk by a submarine in 1915."),
        "article and novel": (SHIP, "“My dear,” said Mr. Darcy, “you are too kind.”"),
    },
    opinions={
        "wonderful": "A wonderful film. The acting is superb, and the story moved me to tears.",
        "not bad": "This film is not bad at all.",
        "waste of time": "A complete waste of two hours. The plot made no sense.",
        "although": "Although the actors do their best, the story is dull and far too long.",
        "never boring": "It is a long film, but it is never boring.",
    },
    names={
        "persons and places": "Marie Curie was born in Warsaw and moved to Paris.",
        "organisations": "Angela Merkel met the head of Siemens in Munich.",
        "names or words?": "Will Smith will play in Reading, but Rose was reading a rose.",
    },
    questions=passages(
        [
            ("Where was Marie Curie born?", CURIE),
            ("When did she win the Nobel Prize in Chemistry?", CURIE),
            ("Who keeps the egg warm?", PENGUIN),
            ("What do emperor penguins eat?", PENGUIN),
            ("Who discovered the emperor penguin?", PENGUIN),  # the passage does not say
        ]
    ),
    meaning=(SUBJECTS, REVIEWS),
    data=(REVIEWS,),
)
# A model of the visitor's own may have learned either; the texts of real English are the likelier to suit it.
ANY = replace(ENGLISH, meaning=ENGLISH.meaning + TOWN.meaning, data=ENGLISH.data + TOWN.data)
FAMILIES = {DEFAULT_MODEL: ENGLISH, "english-scratch": ENGLISH, STORYWORLD: TOWN}
PAIRS = pairs(  # for whichever model judges pairs
    {
        "it follows": ("Two boys are playing football in the rain.", "Some children are outdoors."),
        "it contradicts": ("Two boys are playing football in the rain.", "Nobody is outside."),
        "neither": ("Two boys are playing football in the rain.", "The boys are brothers."),
    }
)


def of(name: str) -> Texts:
    """Return the texts for a model, by its own name or that of the bundled one that it was fine-tuned from."""
    return FAMILIES.get(name) or FAMILIES.get(origin(name) or "", ANY)


def chosen() -> Texts:
    return of(models.chosen())
