"""Notebook cells of the training page; a test runs every one. `most`: the largest number of snapshots shown."""

from app.shared.page.exports import model_lines


def curves(run: str, log_steps: bool) -> str:
    return f"""from bertlab.draw.charts.runs import run_curves
from bertlab.explain.runs import read_run

run_curves(read_run({run!r}), log_steps={log_steps})"""


def words(run: str, most: int, text: str, pair: str | None, gap: int) -> str:
    return f"""from bertlab import Tokenizer
from bertlab.draw.charts.film import word_lines, word_table
from bertlab.explain.runs import read_run
from bertlab.explain.snapshots import followed_words, picked, word_film

moments = picked(read_run({run!r}).moments, {most})
film = list(word_film(moments, {text!r}, {pair!r}, gap={gap}))
word_lines(word_table(film, followed_words(film), Tokenizer.from_pretrained({run!r})))"""


def answers(run: str, most: int, question: str, passage: str) -> str:
    return f"""from bertlab.draw.charts.film import answer_lines, answer_table
from bertlab.explain.runs import read_run
from bertlab.explain.snapshots import answer_film, picked

moments = picked(read_run({run!r}).moments, {most})
film = list(answer_film(moments, {question!r}, {passage!r}))
for frame in film:
    print(frame.step, frame.answer.best.text or "no answer", f"{{frame.answer.best.probability:.3f}}")
answer_lines(answer_table(film))"""


def head(run: str, most: int, text: str, pair: str | None, limit: int, layer: int, head: int) -> str:
    return f"""from bertlab.draw.charts.film import head_tile, strip
from bertlab.explain.runs import read_run
from bertlab.explain.snapshots import head_film, picked

moments = picked(read_run({run!r}).moments, {most})
film = list(head_film(moments, {text!r}, {pair!r}, limit={limit}))
strip([head_tile(frame, layer={layer}, head={head}) for frame in film])"""


def cloud(run: str, most: int, count: int, pooling: str) -> str:
    return f"""from bertlab.corpora.storyworld import labelled_sentences
from bertlab.draw.charts.film import cloud_tile, strip
from bertlab.explain.vectors import project
from bertlab.explain.runs import read_run
from bertlab.explain.snapshots import cloud_film, picked

sentences = list(labelled_sentences(seed=0, count={count}, split="test"))
texts, labels = [s.text for s in sentences], [s.label for s in sentences]
moments = picked(read_run({run!r}).moments, {most})
film = list(cloud_film(moments, texts, labels, pooling={pooling!r}))
strip([cloud_tile(frame, project(frame.vectors).points, labels, texts) for frame in film])"""


def draw(model: str, text: str, pair: str | None, rate: float, seed: int, limit: int) -> str:
    return f"""from bertlab.draw.html.marked import token_strip
from bertlab.explain.words.masking import sample_masking
from IPython.display import HTML
{model_lines("BertForPreTraining", model)}

drawn = sample_masking(model, tok, {text!r}, {pair!r}, rate={rate}, seed={seed}, limit={limit})
print([(guess.truth, guess.guess, round(guess.loss, 2)) for guess in drawn.guesses])
HTML(token_strip(drawn.after, drawn.actions, drawn.before, drawn.special))"""
