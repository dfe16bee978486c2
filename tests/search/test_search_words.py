"""A search by words: what counts as one word, and how much a word counts where."""

import pytest

from bertlab.search.ranking import by_words
from bertlab.search.words import counted_words


def test_words_count_by_how_rare_they_are():
    ranker = by_words(["read a table from a file", "write a table to a file", "a file of frogs"])
    assert ranker("how do I read a file").argmax() == 0
    assert ranker("frogs in the file").argmax() == 2
    assert not ranker("the").any() and not ranker("zebra").any()


def test_words_are_whole_and_the_commonest_do_not_count():
    assert by_words(["threads", "read it"])("read").tolist()[0] == 0
    assert counted_words("The first of them, and it is not THIS") == ["first", "them"]


def test_texts_without_words_have_no_scores():
    assert by_words(["the", "of"])("the frog").tolist() == [0, 0]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("москва", "Москва является столицей России."),
        ("北京", "他住在北京市中心。"),
        ("京", "他住在北京市中心。"),
        ("カメラ", "新しいカメラを買った。"),
        ("ประเทศ", "กรุงเทพเป็นเมืองหลวงของประเทศไทย"),
        ("서울", "서울은 한국의 수도이다."),
        ("חיפה", "נמל חיפה הוא גדול."),
        ("मौसम", "आज मौसम अच्छा है।"),
        ("BÄR", "Der Ba\u0308r schläft."),
        ("straße", "Die STRASSE ist lang."),
        ("میخواهم", "من می\u200cخواهم بروم"),
    ],
)
def test_words_of_any_script_are_found(question, text):
    others = ["br and r are two letters", "это другой текст", "天気がいいですね。", "हम घर पर थे", "저는 학생입니다"]
    scores = by_words([*others, text])(question)
    assert scores.argmax() == len(others) and scores[-1] > 0
