"""Where sentences end: cases checked by hand, each a text that is cut at | and nowhere else."""

import pytest

from bertlab.corpora.sentences import split_sentences

CASES = """
Mr. Bennet replied that he had not.|"But it is," returned she.
Mrs. and Miss Smith left.|Dr. Watson stayed with Messrs. Brown and Co. until dawn.
Capt. J. R. Smith met Lieut. Col. Hay in St. Louis, Mo., on Jan. 5.|They left on Feb. 3.
J. K. Rowling wrote it.|So did George R. R. Martin.
It was John F. Kennedy who said it.|He was right.
The U.S. Army came.|It left the U.S. in May.
He lives in the U.S.|She lives in Spain.
He works for the U.N. in New York.|She does not.
At 5 p.m. Mr. Fox left.|At 6 a.m. he was back.
They met at 5 p.m.|The train was late.
He was born in Washington, D.C.|The family moved soon.
Washington, D.C. is a city.|It is not a state.
Acme Inc. makes tools.|Apple Inc. and Alphabet Inc. do not.
He bought shares of Acme Inc.|They fell.
It fell 3.5 percent to $4.20.|No. 5 was sold.|See p. 20 and pp. 30 to 40.
Figs, dates, etc. were sold.|They ate apples, pears, etc.|Then they slept.
Use a fruit, e.g. Apples or pears, i.e. Fruit.|Then cook it.
It is Apples vs. Pears.|See Fig. 3 for more.|Cf. Table 2.
See vol. 2, no. 3.|He said no.|Then he left.
Smith et al. (2019) say so.|Jones et al. do not.
Martin Luther King Jr. spoke.|Then Sammy Davis Jr. sang.
Did you see Sen. Hill and Rep. Stone?|I saw Gov. Wood and Pres. Lake.
Gen. Grant fought at Ft. Sumter.|Sgt. Pepper did not climb Mt. Everest.
She has a Ph.D. in physics.|He has an M.A. from Yale.
Ms. Lee has a Ph.D.|Her brother has none.
Prof. Hill, Ph.D., spoke.|Rev. Brown prayed.
"Stop!" he cried.|"Who goes there?" she asked.|Nobody.
"Stop!" Tom cried.|"Who goes there?" Ann asked.|Nobody.
"I am," said he, "a king."|"Are you?"|"Yes."
'Well!' thought Alice.|'After this I shall think nothing of it!'
“Is it far?” he asked.|“No.”|“Good.”
He said, "I left."|She laughed.
He asked, "Why?"|She did not know.
(He was wrong.)|She was right.|[She knew it.]
It is true (see Dr. Hill's book).|It is new (2019).|Read it.
He left (for good!).|She stayed (why?) a day.
Wait...|What is that?|I thought ... well, no.
She said... nothing.|He said… nothing.|So…|They left.
What?!|No!!|Really?
Yahoo! is a firm.|It is large.
Visit example.com today.|Or write to a.b@c.org.|Version 3.11.2 is out.
The file is main.py.|Run it.|The URL is http://a.b/c.html?d=1.|Go.
Am I late?|It is I.|He and I.|We went.
Henry VIII.|He had six wives.|World War II.|It ended in 1945.
It ended in 1945.|In 1946 it was over.|5 men were there.
The temperature was 5 C.|It fell.|Eat vitamin C.|It helps.
Plan A. is dead.|Group B won.
1. Take the pot.|2. Fill it.
It costs £5.|€3 is less.|“Why?”
First came e. e. cummings.|Then came T. S. Eliot.
O.K.|Let us go.|OK.|Fine.
He ran 5 km.|She ran 3 mi.|They slept.
He ran 5 ft. 3 in. and sat.|It weighs 5 lbs.|Put it down.
"He left.|He came back."|I know.
She smiled.|--No, she laughed.|He did so too.
She smiled.--He left.|— Yes, said Ann.|Good.
Chap. 3 is long.|Chapter 4 is short.|Sec. 5 is dull.
Where is Mr. X?|He saw Mme. Y. and Mlle. Z. there.
राम घर गया।|सीता बाज़ार गई।|वे खुश थे।
রাম বাড়ি গেল।|সীতা এল।
یہ کتاب ہے۔|وہ قلم ہے۔|کیا؟|ہاں۔
هل جاء؟|نعم جاء.|ذهب!
Բարեւ։|Ինչպե՞ս ես։
ሰላም።|እንዴት ነህ።
သူ လာသည်။|ငါ သွားသည်။
គាត់មក។|ខ្ញុំទៅ។
Τι κάνεις;|Είμαι καλά.|Εσύ;
Hola.|¿Qué tal?|¡Bien!|Adiós.
„Komm!“|„Nein.“|Er ging.
« Oui. »|Il est parti.
Привет.|Как дела?|Хорошо!
ის წავიდა.|ის მოვიდა.|გ. ორბელიანი წერს.
빨리 와.|나는 갈게.|J. 김이 왔다.
你好﹒|再見﹗
𑄌𑄋𑄴𑅁|𑄌𑄋𑄴𑅃
One.|Two!|Three?|Four
He said: "Is it true?|Yes."|(She nodded.)|Then he left.
我爱你。|你好吗？|“好！”|他说。
<b>Bold.</b> it is
🐶 barked.|Then it slept.|Élan is a word.|Ünder too.
M. Dupont came.|Mme. Dupont did not.
It rained on Mon. and Tues.|On Wed. it snowed.
She lives at 5 Elm St. in Troy.|He lives at 7 Oak Ave. with her.
""".strip().split("\n")


@pytest.mark.parametrize("case", CASES)
def test_sentences_end_where_they_end(case):
    for between in (" ", "\n  "):
        assert split_sentences(case.replace("|", between)) == case.split("|")
