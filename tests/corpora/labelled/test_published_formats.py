"""Published sets in the format of their makers: columns, quotes and line ends are theirs, the rows are ours."""

import json

import pytest

from bertlab.corpora.examples import QAExample, TextExample, TokenExample
from bertlab.tasks.files import FileOptions
from bertlab.tasks.sequence import SequenceTask
from bertlab.tasks.span import SpanTask
from bertlab.tasks.token import TokenTask


def tabs(*rows: str) -> str:
    """Rows with | for each tab, as no cell here holds one."""
    return "".join(row.replace("|", "\t") + "\n" for row in rows)


def objects(*rows: dict) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# Each: name of the file, its text, options of the command, the examples. A lone " stands in every table.
SENTENCES = {
    "CoLA": (  # no names; source, label, mark of the author, sentence
        *("train.tsv", tabs('gj04|1||"Who left, and when?', "gj04|0|*|The the dog ran.")),
        {"text_column": "3", "label_column": "1"},
        [TextExample("1", '"Who left, and when?', None, "1"), TextExample("2", "The the dog ran.", None, "0")],
    ),
    "CoLA, test": (
        *("test.tsv", tabs("index|sentence", '0|Bill "ran.')),
        *({}, [TextExample("0", 'Bill "ran.')]),
    ),
    "SST-2": (
        *("train.tsv", tabs("sentence|label", '" a dull film |0', "a fine , warm one |1")),
        *({}, [TextExample("2", '" a dull film ', None, "0"), TextExample("3", "a fine , warm one ", None, "1")]),
    ),
    "SST-2 as lines": (
        *("stsa.binary.train", '1 a fine , warm one\n0 " a dull film\n1 funny\n0 3 hours\n'),
        {},
        [
            TextExample("1", "a fine , warm one", None, "1"),
            TextExample("2", '" a dull film', None, "0"),
            TextExample("3", "funny", None, "1"),
            TextExample("4", "3 hours", None, "0"),
        ],
    ),
}
PAIRS = {
    "MRPC": (  # with a byte order mark and line ends of Windows
        "msr_paraphrase_train.txt",
        "\ufeff" + tabs("Quality|#1 ID|#2 ID|#1 String|#2 String\r", '1|702|703|He said , " no .|" No , " he said .\r'),
        *({}, [TextExample("2", 'He said , " no .', '" No , " he said .', "1")]),
    ),
    "MRPC, test": (
        *("test.tsv", tabs("index|#1 ID|#2 ID|#1 String|#2 String", '0|1|2|"A .|B .')),
        *({}, [TextExample("0", '"A .', "B .")]),
    ),
    "STS-B": (
        "dev.tsv",
        tabs(
            "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2|score",
            '7|main-news|headlines|2015|3|none|none|A "man runs.|A boy, 5, runs.|3.500',
            "8|main-captions|MSRvid|2012test|4|none|none|A cat.|A dog.|0.000",
        ),
        {"problem": "regression"},
        [TextExample("7", 'A "man runs.', "A boy, 5, runs.", 3.5), TextExample("8", "A cat.", "A dog.", 0.0)],
    ),
    "STS benchmark": (  # no names, tabs in a .csv, and two columns more in some rows
        "sts-train.csv",
        tabs(
            "main-captions|MSRvid|2012test|0001|5.000|A man runs, fast.|A man is running.",
            'main-forums|deft-forum|2014|0002|0.800|"Why?|No.|https://a.org/1|https://a.org/2',
            "main-news|headlines|2013|0003|2.500|Rain.|Snow.",
        ),
        {"text_column": "5", "pair_column": "6", "label_column": "4", "problem": "regression"},
        [
            TextExample("1", "A man runs, fast.", "A man is running.", 5.0),
            TextExample("2", '"Why?', "No.", 0.8),
            TextExample("3", "Rain.", "Snow.", 2.5),
        ],
    ),
    "QQP": (
        "train.tsv",
        tabs(
            "id|qid1|qid2|question1|question2|is_duplicate",
            '133273|213221|213222|What is "love?|What, then, is love?|1',
        ),
        *({}, [TextExample("133273", 'What is "love?', "What, then, is love?", "1")]),
    ),
    "QQP, test": (
        *("test.tsv", tabs("id|question1|question2", '0|Why "so?|How?')),
        *({}, [TextExample("0", 'Why "so?', "How?")]),
    ),
    "MNLI": (
        "dev_matched.tsv",
        tabs(
            "index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse|sentence1_parse|sentence2_parse|"
            "sentence1|sentence2|label1|label2|label3|label4|label5|gold_label",
            '0|63735|63735n|slate|( A b )|( C )|(ROOT A)|(ROOT C)|"A new " rule|A rule, old|neutral|entailment|neutral|'
            "neutral|neutral|neutral",
        ),
        *({}, [TextExample("0", '"A new " rule', "A rule, old", "neutral")]),
    ),
    "MultiNLI": (  # the rows are shorter where there was one annotator
        "multinli_1.0_train.txt",
        tabs(
            "gold_label|sentence1_binary_parse|sentence2_binary_parse|sentence1_parse|sentence2_parse|sentence1|sentence2|"
            "promptID|pairID|genre|label1|label2",
            'entailment|( A )|( B )|(A)|(B)|A "dog|B|31193|31193e|government|entailment',
        ),
        *({}, [TextExample("31193e", 'A "dog', "B", "entailment")]),
    ),
    "QNLI": (
        *("dev.tsv", tabs("index|question|sentence|label", '0|What "is it?|It is, it seems, so.|not_entailment')),
        *({}, [TextExample("0", 'What "is it?', "It is, it seems, so.", "not_entailment")]),
    ),
    "RTE": (
        *("train.tsv", tabs("index|sentence1|sentence2|label", '0|"No," she said.|She spoke.|entailment')),
        *({}, [TextExample("0", '"No," she said.', "She spoke.", "entailment")]),
    ),
    "WNLI": (
        *("train.tsv", tabs("index|sentence1|sentence2|label", '0|The "cup broke as it fell.|The cup fell.|1')),
        *({}, [TextExample("0", 'The "cup broke as it fell.', "The cup fell.", "1")]),
    ),
    "SNLI": (
        "snli_1.0_dev.jsonl",
        objects(
            {"annotator_labels": ["neutral"], "captionID": "1.jpg#4", "gold_label": "-", "pairID": "1.jpg#4r1n"}
            | {"sentence1": "A man.", "sentence2": "A boy."},
            {"annotator_labels": ["neutral"], "captionID": "2.jpg#0", "gold_label": "neutral", "pairID": "2.jpg#0r1n"}
            | {"sentence1": "Two dogs.", "sentence2": "Two cats."},
        ),
        *({"skip_label": ("-",)}, [TextExample("2.jpg#0r1n", "Two dogs.", "Two cats.", "neutral")]),
    ),
    "OCNLI": (
        "train.50k.json",
        objects(
            {"level": "easy", "sentence1": "他在家里。", "sentence2": "他不在公司。", "label": "entailment"}
            | {"genre": "gov", "prem_id": "gov_1", "id": 0},
            {"level": "hard", "sentence1": "天气很好。", "sentence2": "有人说“下雨”", "label": "-"}
            | {"genre": "tv", "prem_id": "tv_2", "id": 1},
        ),
        *({"skip_label": ("-",)}, [TextExample("0", "他在家里。", "他不在公司。", "entailment")]),
    ),
}
CONLL_2003 = """-DOCSTART- -X- -X- O

" " O O
Ann NNP I-NP I-PER
Lee NNP I-NP I-PER
visits VBZ I-VP O
Rome NNP I-NP I-LOC

"""
TOKENS = {
    "CoNLL 2003": (
        *("eng.train", CONLL_2003, {}),
        [TokenExample("3", ('"', "Ann", "Lee", "visits", "Rome"), ("O", "B-PER", "I-PER", "O", "B-LOC"))],
    ),
    "CoNLL 2003, parts of speech": (
        *("eng.train", CONLL_2003, {"label_column": "1"}),
        [TokenExample("3", ('"', "Ann", "Lee", "visits", "Rome"), ('"', "NNP", "NNP", "VBZ", "NNP"))],
    ),
    "CoNLL-U": (
        "en_ewt-ud-train.conllu",
        "# sent_id = 1\n# text = Dogs run\n"
        + tabs("1|Dogs|dog|NOUN|NNS|Number=Plur|2|nsubj|_|_", "2|run|run|VERB|VBP|_|0|root|_|_", ""),
        *({"text_column": "1", "label_column": "3"}, [TokenExample("3", ("Dogs", "run"), ("NOUN", "VERB"))]),
    ),
    "Weibo": (
        *("weiboNER.conll.train", tabs("男|B-PER.NOM", "人|I-PER.NOM", "在|O", "京|B-GPE.NAM", "")),
        *({}, [TokenExample("1", tuple("男人在京"), ("B-PER.NOM", "I-PER.NOM", "O", "B-GPE.NAM"))]),
    ),
    "Weibo, second edition": (  # a number behind each character: where it stands in its word
        *("weiboNER_2nd_conll.train", tabs("男0|B-PER.NOM", "人1|I-PER.NOM", "在0|O", "")),
        *({}, [TokenExample("1", ("男0", "人1", "在0"), ("B-PER.NOM", "I-PER.NOM", "O"))]),
    ),
    "Weibo as BMES": (
        *("train.char.bmes", "男 B-PER.NOM\n人 M-PER.NOM\n们 E-PER.NOM\n在 O\n京 S-GPE.NAM\n\n"),
        *({}, [TokenExample("1", tuple("男人们在京"), ("B-PER.NOM", "I-PER.NOM", "E-PER.NOM", "O", "S-GPE.NAM"))]),
    ),
}


def squad(name: str, context: str, question: str, answers: list[tuple[str, int]], **more: object) -> tuple:
    found = [{"text": text, "answer_start": start} for text, start in answers]
    entry = {"id": "q1", "question": question, "answers": found, **more}
    data = [{"title": "t", "paragraphs": [{"id": "p1", "context": context, "qas": [entry]}]}]
    (text, start), *others = answers or [("", -1)]
    others = tuple(dict.fromkeys(other for other, _ in others if other != text))
    file = json.dumps({"version": "1.1", "data": data}, ensure_ascii=False)
    return name, file, {}, [QAExample("q1", question, context, text, start, others=others)]


QUESTIONS = {
    "SQuAD 1.1": squad("dev-v1.1.json", 'She said "no".', "What?", [("no", 10), ('"no"', 9), ("no", 10)]),
    "SQuAD 2.0": squad("dev-v2.0.json", "Dogs bark.", "Why?", [], is_impossible=True, plausible_answers=[]),
    "CMRC": squad(
        "cmrc2018_dev.json", "《红楼》作者是曹雪芹。", "作者是谁？", [("曹雪芹", 7), ("曹雪芹", 7), ("是曹雪芹", 6)]
    ),
}
FAMILIES = (
    *((SequenceTask, False, SENTENCES), (SequenceTask, True, PAIRS)),
    *((TokenTask, None, TOKENS), (SpanTask, None, QUESTIONS)),
)
FORMATS = {name: (family, pairs, *row) for family, pairs, group in FAMILIES for name, row in group.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_of_its_makers(name, tmp_path):
    family, pairs, file, text, options, examples = FORMATS[name]
    path = tmp_path / file
    path.write_bytes(text.encode())
    options = dict(options)
    problem = options.pop("problem", "single_label_classification")
    reading = FileOptions(**options).reading(problem, pairs, labelled="test" not in name)
    assert list(family.read_examples(path, reading)) == examples
    assert sum(reading.skipped.labels.values()) == ("skip_label" in options) and not reading.skipped.count
