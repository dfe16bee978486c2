"""The live page as a visitor uses it: guess, hide, swap, switch off, share, open a model, go on without the server."""

import json
import re
import shutil
import threading

import pytest
from playwright.sync_api import expect

from benchmarks.web.serving import served
from bertlab import BertForMaskedLM, Tokenizer
from bertlab.io.locate import locate
from web.build import keep_offline

pytestmark = pytest.mark.browser
ANSWERED = re.compile(r"Answered by (english|your model), here")
TEXT = "The nurse said that [MASK] was tired."


def show(tab, site, link=""):
    """Open the page and wait until the best model answers."""
    tab.goto(f"{site}/live/{link}")
    tab.locator("#heads button").first.wait_for()


def wait_for_status(tab, text):
    """Wait until the page says so, or what went wrong."""
    tab.locator("#status", has_text=text).or_(tab.locator("#problem", has_text=re.compile("."))).first.wait_for()
    unharmed(tab)


def answered(tab):
    wait_for_status(tab, ANSWERED)
    tab.locator("#progress").wait_for(state="hidden")
    unharmed(tab)


def unharmed(tab):
    assert tab.outside == [], "requests beyond this machine"
    assert tab.broken == [], "errors in the page's JavaScript"
    assert tab.locator("#problem").text_content() == ""


def guesses(tab, column=0) -> list[str]:
    return tab.locator(".column").nth(column).locator(".bars .word").all_text_contents()


@pytest.fixture
def page(tab, site):
    """The page with a sentence of one's own, answered by the best model."""
    show(tab, site, "?text=My+niece+is+afraid+[MASK]+spiders.")
    answered(tab)
    return tab


def test_you_guess_then_bert_does(tab, site):
    show(tab, site)
    assert tab.locator("#text").input_value() == TEXT
    assert tab.locator(".bars").count() == 0  # covered
    assert "english when this page was made" in tab.locator("#status").text_content() or ANSWERED.search(
        tab.locator("#status").text_content()
    )
    tab.fill("#guess-word", "She")
    tab.press("#guess-word", "Enter")
    tab.locator(".bars").first.wait_for()
    expect(tab.locator("#guesses")).to_be_focused()  # the button is gone
    assert guesses(tab)[0] == "she" and guesses(tab, 1)[0] == "he"  # soldier in place of nurse
    assert tab.locator("#verdict").text_content().startswith("Your guess, she: ")
    assert tab.locator(".mine").count() >= 1
    assert {"more", "less"} <= set(
        tab.locator(".column").nth(1).locator("i").evaluate_all("all => all.map(e => e.className)")
    )
    answered(tab)
    assert guesses(tab)[0] == "she"  # the stored answer and the one computed here
    tab.fill("#text", "My niece is afraid [MASK] spiders.")  # is to be guessed first, too
    expect(tab.locator("#guesses")).to_be_hidden()
    assert tab.input_value("#guess-word") == tab.locator("#verdict").text_content() == ""


def test_what_a_long_text_leaves_out_is_said(tab, site):
    show(tab, site, "?text=" + "+".join(["We+saw+___+and+went+on"] * 13))  # 78 words, 13 gaps
    answered(tab)
    assert tab.locator("#words button").count() == 60 and "the first 60 words" in tab.locator("#words p").text_content()
    assert tab.locator(".bars").count() == 8 and "Only the first 8 gaps" in tab.locator("#scale").text_content()


def test_stored_answers_are_those_of_the_page_itself(tab, live_site, site):
    stored = json.loads((live_site / "live" / "stored.json").read_text(encoding="utf-8"))
    for text, answer in list(stored["answers"].items())[:2]:
        show(tab, site, "?text=" + text.replace(" ", "+"))
        answered(tab)
        assert guesses(tab) == [token for token, _ in answer["fills"][0]["known"][: len(guesses(tab))]]


def test_the_page_says_what_its_weights_cost(tab, live_site, site):
    site_json = json.loads((live_site / "live" / "site.json").read_text(encoding="utf-8"))
    figures = site_json["models"][0]["weights"]
    show(tab, site)
    told = tab.locator("#weights").text_content()
    assert told.startswith(f"english has weights of {figures['bits']} bits")
    assert all(f" {number}" in told for number in (figures["gaps"], *figures["right"].values()))
    losses = [sibling["loss"] for sibling in site_json["siblings"]]
    assert [loss["texts"] for loss in losses] == [4, 4, 4]
    assert all(f"answers {loss['same']} of 4 texts" in told and f"{loss['right']['8']:.1%}" in told for loss in losses)


def test_every_example_is_answered_before_a_model_has_come(new_tab, live_site):
    never = threading.Event()
    with served(live_site, lambda path: never.wait(60) if "model.safetensors" in path else None) as site:
        tab = new_tab()
        show(tab, site)
        tab.uncheck("#guess-first")
        examples = tab.locator("#examples button")
        assert examples.count() >= 6
        for number in range(examples.count()):
            examples.nth(number).click()
            expect(tab.locator("#text")).to_have_value(examples.nth(number).text_content().replace("___", "[MASK]"))
            tab.locator("#guesses .word").first.wait_for()
            assert "when this page was made" in tab.locator("#status").text_content()
            assert "Loading" not in tab.locator("#status").text_content()  # read out chunk by chunk
        tab.fill("#text", "Nobody has stored this [MASK].")
        expect(tab.locator("#guesses")).to_be_hidden()  # those were of another sentence
        unharmed(tab)
        tab.close()
        never.set()


def test_on_a_slow_line_the_sentence_comes_before_the_answers(new_tab, live_site):
    come = threading.Event()
    with served(live_site, lambda path: come.wait(60) if "stored.json" in path else None) as site:
        tab = new_tab()
        tab.goto(f"{site}/live/")
        expect(tab.locator("#text")).to_have_value(TEXT)
        assert not tab.locator("#attention").is_visible()  # there is nothing to show yet
        come.set()
        tab.locator("#heads button").first.wait_for()
        unharmed(tab)


def test_hide_a_word_bring_it_back_and_type(page):
    assert guesses(page)[0] == "of"
    page.get_by_role("button", name="hide niece").click()
    page.get_by_text("Hidden word 2").wait_for()
    assert page.locator("#text").input_value() == "My [MASK] is afraid [MASK] spiders."
    page.get_by_role("button", name="bring back niece").click()
    page.get_by_role("button", name="put BERT's first guess here").click()
    expect(page.locator("#text")).to_have_value("My niece is afraid of spiders.")
    page.get_by_text("No word is hidden").wait_for()
    page.fill("#text", "[MASK][MASK] is afraid [MASK] spiders.")
    page.get_by_text("Hidden word 3").wait_for()
    third = page.locator(".bars").nth(2).locator(".word").first.text_content()
    page.get_by_role("button", name="put BERT's first guess here").last.click()
    expect(page.locator("#text")).to_have_value(f"[MASK][MASK] is afraid {third} spiders.")
    page.evaluate(
        "() => { history.replaceState = () => { throw new DOMException('', 'SecurityError'); }; }"
    )  # Safari's
    page.fill("#text", "Better late than [MASK].")
    expect(page.locator(".bars")).to_have_count(1)
    page.evaluate("() => { delete history.replaceState; }")
    page.fill("#text", "Two plus two is [MASK].")
    page.locator("#guesses .word").first.wait_for()
    page.wait_for_url("**text=Two+plus+two*")
    unharmed(page)


@pytest.mark.parametrize(("text", "hidden"), [("Good .", "Good [MASK]"), ("Pay $$$!", "Pay [MASK]!")])
def test_a_hidden_word_comes_back_as_it_was(tab, site, text, hidden):
    tab.goto(f"{site}/live/site.json")
    there_and_back = """async (text) => {
      const { bare, hide, put, words } = await import("/live/js/sentence.js"), hidden = hide(text, 1);
      return [hidden, put(hidden, 1, bare(words(text)[1]))];
    }"""
    assert tab.evaluate(there_and_back, text) == [hidden, text]


def test_a_gap_may_be_a_line(page, site):
    page.fill("#text", "Better ___ than never, [mask] they say of __it__.")
    page.get_by_text("Hidden word 2").wait_for()
    assert page.locator("#text").input_value() == "Better ___ than never, [mask] they say of __it__."  # as it was typed
    assert page.locator("#words button").all_text_contents()[1] == "[MASK]"
    page.goto(f"{site}/live/?text=My+niece+is+afraid+___+spiders.")
    answered(page)
    assert guesses(page)[0] == "of"


def test_what_cannot_be_answered_is_said(page):
    page.uncheck("#special")
    page.fill("#text", "")
    page.get_by_text("Write a sentence above.").wait_for()
    page.get_by_role("button", name=re.compile(r"^\[CLS\] reads")).wait_for()  # there is nothing else to draw
    unharmed(page)
    page.fill("#text", "The \U0001f600 was [MASK].")
    unknown = page.get_by_text("[UNK] stands for what is not in this model's vocabulary.")
    unknown.wait_for()
    page.fill("#text", "The cat was [MASK].")
    unknown.wait_for(state="detached")
    page.select_option("#swap-word", label="cat")
    page.fill("#swap-to", "\U0001f600")
    unknown.wait_for()
    unharmed(page)


def test_swap_a_word_and_the_control(page):
    page.select_option("#swap-word", label="niece")
    page.fill("#swap-to", "dog")
    page.get_by_role("heading", name="Changed: dog for niece").wait_for()
    page.check("#random")
    page.get_by_role("heading", name="Changed: dog for niece, random weights").wait_for()
    assert guesses(page)[0] == "of" != guesses(page, 1)[0]
    assert page.get_by_role("radio", name="Changed", exact=True).is_checked()
    page.locator("#layers-box summary").click()
    page.get_by_role("rowheader", name="Layer 4").nth(1).wait_for()
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.get_by_role("heading", name="Changed: dog for niece, random weights").first.wait_for()
    assert page.locator("#layers-box").get_attribute("open") is not None


def test_a_swap_goes_with_its_word(page):
    page.select_option("#swap-word", label="niece")
    page.fill("#swap-to", "dog")
    changed = page.get_by_role("heading", name="Changed: dog for niece")
    changed.wait_for()
    page.fill("#text", "Today my niece is afraid [MASK] spiders.")
    page.wait_for_url("**swap=2*")
    changed.wait_for()
    page.get_by_role("button", name="hide niece").click()
    changed.wait_for(state="detached")
    page.get_by_role("button", name="bring back niece").click()
    page.select_option("#swap-word", label="niece")
    page.fill("#swap-to", "dog")
    changed.wait_for()
    page.fill("#text", "She [MASK] to school.")
    changed.wait_for(state="detached")
    assert "swap=" not in page.url and page.input_value("#swap-to") == ""
    unharmed(page)


def test_heads_by_keyboard_and_switched_off(page):
    first = page.get_by_role("radio", name=re.compile("^Layer 1, head 1: most is read from"))
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.get_by_role("heading", name="Layer 2, head 2").wait_for()
    page.keyboard.press("x")
    page.get_by_role("heading", name="Changed: 1 head off").wait_for()
    page.get_by_role("radio", name=re.compile("^Layer 2, head 2, switched off")).wait_for()
    assert "off=2-2" in page.url and "head=2-2" in page.url
    page.get_by_role("button", name="Switch all heads on").click()
    page.locator(".column").nth(1).wait_for(state="detached")
    expect(page.get_by_role("radio", name=re.compile("^Layer 2, head 2"))).to_be_focused()
    page.keyboard.press("x")
    page.get_by_role("button", name="Switch it on again").click()
    page.locator(".column").nth(1).wait_for(state="detached")
    reader = page.get_by_role("button", name=re.compile("^afraid reads"))
    reader.focus()
    page.keyboard.press("Enter")
    assert reader.get_attribute("aria-pressed") == "true"
    before = page.locator("#head g").count()
    page.uncheck("#special")
    page.wait_for_url("**special=0*")
    expect(page.locator("#head g")).to_have_count(before - 2)
    unharmed(page)


def test_the_small_model_answers_until_the_large_one_has_come(new_tab, live_site):
    """The server holds back all larger weights until the small model has answered: the next ones come in no time."""
    come = threading.Event()

    def hold(path):
        if "model.safetensors" in path and "/storyworld-tiny/" not in path:
            come.wait(60)

    with served(live_site, hold) as site:
        tab = new_tab()
        tab.goto(f"{site}/live/?text=the+dog+is+[MASK].&off=5-8")
        wait_for_status(tab, "Answered by storyworld-tiny, here")
        expect(tab.locator("#guesses .column")).to_have_count(1)  # it has no such head
        assert "the small model, which answers until the large one has come" in tab.locator("#status").text_content()
        come.set()
        answered(tab)
        tab.get_by_role("heading", name="Changed: 1 head off").wait_for()


def test_a_task_says_so_if_the_large_model_does_not_come(new_tab, live_site):
    def refuse(path):
        if "/english/model.safetensors" in path:
            raise ConnectionError

    with served(live_site, refuse) as site:
        tab = new_tab()
        tab.goto(f"{site}/live/?text=the+dog+is+[MASK].")
        tab.locator("#problem", has_text="could not be loaded").wait_for()
        tab.locator("#status", has_text=re.compile("Answered by english-scratch, here, in [0-9]+ ms.$")).wait_for()
        tab.get_by_role("button", name="Opinion").click()
        tab.locator("#task-status", has_text="could not be loaded").wait_for()


def test_a_model_that_is_closed_refuses_what_it_was_asked(page):
    code = page.evaluate(
        """async () => {
          const { Client } = await import("/live/js/client.js");
          const client = new Client("large"), asked = client.answer([]);
          client.close();
          return asked.then(() => "answered", ({ code }) => code);
        }"""
    )
    assert code == "closed"


def test_it_goes_on_without_the_server(new_tab, live_site):
    tab = new_tab()
    with served(live_site) as site:
        show(tab, site)
        answered(tab)
        tab.evaluate("navigator.serviceWorker.ready.then(() => true)")
    show(tab, site, "?text=Better+late+than+[MASK].")
    answered(tab)
    assert len(guesses(tab)) == 6


def build_again(folder, version):
    """Write a small site of another version: one model, one other page."""
    wrote = json.loads((folder / "live" / "site.json").read_text(encoding="utf-8"))
    models = [one | {"version": version} for one in wrote["models"] if one["name"] == "storyworld-tiny"]
    (folder / "live" / "site.json").write_text(json.dumps(wrote | {"models": models, "siblings": []}))
    (folder / "page.html").write_text(f"<h1>{version}</h1>")
    keep_offline(folder)


UPDATED = """async () => {
  const kept = async () => (await caches.match("../page.html")).text();
  for (let tries = 0; tries < 1200 && (await kept()).includes("old"); tries += 1) {
    await new Promise((go) => setTimeout(go, 50));
  }
}"""


def test_an_update_leaves_what_was_kept(new_tab, live_site, tmp_path):
    folder = shutil.copytree(live_site, tmp_path / "site", ignore=shutil.ignore_patterns("english*", "*-8", "*-16"))
    link, by, tab = "live/?text=the+dog+is+[MASK].", "Answered by storyworld-tiny, here", new_tab()
    build_again(folder, "old")
    with served(folder) as site:
        tab.goto(f"{site}/{link}")
        wait_for_status(tab, by)
        tab.wait_for_function("() => navigator.serviceWorker.controller")
        tab.goto(f"{site}/page.html")
        build_again(folder, "new")
        tab.goto(f"{site}/{link}")
        tab.evaluate(UPDATED)
    tab.goto(f"{site}/page.html")
    assert tab.locator("h1").text_content() == "new"
    tab.goto(f"{site}/{link}")
    wait_for_status(tab, by)
    weights = "async () => (await (await caches.open('bertlab-weights')).keys()).map(({ url }) => url.split('?')[1])"
    assert tab.evaluate(weights) == ["new"]


FULL = "() => { Cache.prototype.put = async () => { throw new DOMException('', 'QuotaExceededError'); }; }"


def test_a_full_disk_keeps_nothing_and_the_page_comes(new_tab, live_site):
    tab = new_tab()
    with served(live_site) as site:
        show(tab, site)
        tab.wait_for_function("() => navigator.serviceWorker.controller")
        tab.context.service_workers[0].evaluate(FULL)
        tab.goto(f"{site}/live/models/storyworld-tiny-16/vocab.txt")
        assert "[MASK]" in tab.locator("body").text_content()


HOSTILE = "<img src=x onerror=window.hurt=1> [MASK] <script>window.hurt=1</script> \"'><svg/onload=window.hurt=1>"


def test_hostile_texts_and_links_run_nothing(tab, site):
    tab.goto(f"{site}/live/")
    tab.evaluate(
        "text => location.search = new URLSearchParams({ text, swap: `0:${text}`, off: text, head: text, lang: text })",
        HOSTILE,
    )
    answered(tab)
    tab.fill("#guess-word", HOSTILE)
    tab.press("#guess-word", "Enter")
    tab.get_by_text("is not among BERT's first 200").wait_for()
    assert tab.evaluate("window.hurt") is None
    assert tab.locator("main img, main script").count() == 0
    unharmed(tab)


def test_a_link_may_name_a_language_that_there_is_not(tab, site):
    show(tab, site, "?lang=constructor")
    assert tab.evaluate("document.documentElement.lang") == "en" and "What word is hidden?" in tab.title()
    assert "lang=en" in tab.url  # what was chosen stays, whatever the browser prefers
    unharmed(tab)


@pytest.fixture
def own(tmp_path):
    """A folder as a visitor has it: a small BERT."""
    return shutil.copytree(locate("storyworld-tiny"), tmp_path / "my-bert", ignore=shutil.ignore_patterns("step-*"))


def model_guesses(folder, text) -> list[str]:
    model, tok = BertForMaskedLM.from_pretrained(folder).eval(), Tokenizer.from_pretrained(folder)
    batch = tok([text])
    best = model(**batch).logits[batch["input_ids"] == tok.mask_token_id].topk(6).indices[0].tolist()
    return tok.convert_ids_to_tokens(best)


def test_a_model_of_ones_own(page, own):
    page.fill("#text", "the dog is [MASK].")
    page.set_input_files("#folder", own)
    page.locator("#status", has_text="your model").wait_for()
    assert guesses(page) == model_guesses(own, "the dog is [MASK].")
    page.locator("#heads button").nth(3).press("x")
    page.locator(".column").nth(1).wait_for()
    page.get_by_role("button", name="Back to the model of this page").click()
    expect(page.locator("#folder")).to_be_focused()
    answered(page)
    expect(page.locator("#guesses .column")).to_have_count(1)
    assert "off=" not in page.url  # that head was of another model


def test_the_later_of_two_folders_counts(page, own):
    page.fill("#text", "the dog is [MASK].")
    page.set_input_files("#folder", locate("english"))
    page.set_input_files("#folder", own)
    page.locator("#status", has_text="your model").wait_for()
    assert len(page.workers) == 2  # the page's model and that one: nobody reads the first folder
    assert guesses(page) == model_guesses(own, "the dog is [MASK].")
    unharmed(page)


def test_a_folder_that_is_dropped(page):
    page.evaluate(
        """async () => {
          const dropped = new DataTransfer();
          for (const name of ["config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"]) {
            const response = await fetch(`models/storyworld-tiny/${name}`);
            dropped.items.add(new File([await response.blob()], name));
          }
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true }));
        }"""
    )
    page.locator("#status", has_text="your model").wait_for()
    unharmed(page)


DROP = """words => {
  const dropped = new DataTransfer();
  dropped.items.add(words, "text/plain");
  const event = new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true });
  document.getElementById("text").dispatchEvent(event);
  return event.defaultPrevented;
}"""


def test_words_that_are_dropped_are_no_folder(page):
    assert not page.evaluate(DROP, "words")  # the browser puts them where they fall
    page.fill("#text", "Better late than [MASK].")
    page.wait_for_url("**Better+late**")
    unharmed(page)


def test_a_folder_of_transformers_5(page, own):
    """It has no vocab.txt; and the first BERTs have no model_type."""
    (own / "vocab.txt").unlink()
    config = json.loads((own / "config.json").read_text())
    del config["model_type"]
    (own / "config.json").write_text(json.dumps(config))
    page.fill("#text", "the dog is [MASK].")
    page.set_input_files("#folder", own)
    page.locator("#status", has_text="your model").wait_for()
    assert guesses(page)[0] == model_guesses(own, "the dog is [MASK].")[0]
    unharmed(page)


def test_a_cased_folder(page, own):
    """tokenizer.json says what vocab.txt cannot, and counts before it."""
    (own / "tokenizer_config.json").unlink()
    normalizer = {"type": "BertNormalizer", "lowercase": False}
    wrote("tokenizer.json", normalizer=normalizer)(own)
    page.fill("#text", "the Dog is [MASK].")
    page.set_input_files("#folder", own)
    page.locator("#status", has_text="your model").wait_for()
    page.get_by_text("[UNK] stands for what is not in this model's vocabulary.").wait_for()  # "Dog"
    unharmed(page)


def without(name):
    return lambda folder: (folder / name).unlink()


def wrote(name, **changes):
    """Change what a JSON file of a folder says."""

    def change(folder):
        (folder / name).write_text(json.dumps(json.loads((folder / name).read_text()) | changes))

    return change


def vocabulary_alone(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()


def other_vocabulary(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("a\nb\n")


def further_away(folder):
    (folder / "step").mkdir()
    (folder / "model.safetensors").rename(folder / "step" / "model.safetensors")


DAMAGES = [
    (wrote("tokenizer.json", model={"type": "BPE"}), "by WordPiece; this folder asks for BPE."),
    (wrote("tokenizer.json", normalizer={"type": "NFC"}), "this folder asks for NFC."),
    (wrote("tokenizer_config.json", tokenizer_class="BertJapaneseTokenizer"), "asks for BertJapaneseTokenizer."),
    (wrote("tokenizer.json", added_tokens=[{"content": "[E1]"}]), "this folder adds [E1]."),
    (vocabulary_alone, "This is no complete folder of a BERT: it has no tokenizer_config.json."),
    (without("config.json"), "This is no complete folder of a BERT: it has no config.json."),
    (further_away, "This is no complete folder of a BERT: it has no model.safetensors."),
    (wrote("config.json", model_type="<b>gpt2</b>"), "This is no BERT: config.json says model_type <b>gpt2</b>."),
    (wrote("config.json", num_hidden_layers=9), "This is no BERT: model.safetensors has no bert.encoder.layer."),
    (wrote("config.json", intermediate_size=8), "intermediate.dense.weight has not the size that config.json gives"),
    (wrote("config.json", vocab_size=8), "vocab.txt has not the size that config.json gives"),
    (lambda folder: (folder / "config.json").write_text("{"), "config.json is no JSON."),
    (lambda folder: (folder / "model.safetensors").write_bytes(b"PK\3\4" * 9), "model.safetensors cannot be read"),
    (other_vocabulary, "The vocabulary has no [PAD]"),
]


def test_a_folder_that_is_no_bert_gets_one_line(tab, site, own, tmp_path):
    show(tab, site, "?text=My+niece+is+afraid+[MASK]+spiders.")
    for number, (damage, line) in enumerate(DAMAGES):
        broken = shutil.copytree(own, tmp_path / str(number))
        damage(broken)
        tab.set_input_files("#folder", broken)
        tab.locator("#problem", has_text=line).wait_for()
        assert "\n" not in tab.locator("#problem").text_content() and tab.broken == []


def test_it_fits_a_phone(tab, site):
    tab.set_viewport_size({"width": 390, "height": 844})
    show(
        tab, site, f"?text={'Donaudampfschifffahrtsgesellschaft' * 4}+[MASK]&swap=0:{'x' * 60}&layers=1&off=1-1&lang=zh"
    )
    tab.locator("#layers table").nth(1).wait_for()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.evaluate("document.documentElement.lang") == "zh"
    unharmed(tab)


# What the picture says if it is copied before a new sentence is answered.
DRAWN = """() => {
  const pen = CanvasRenderingContext2D.prototype, write = pen.fillText, drawn = [];
  const text = document.getElementById("text");
  pen.fillText = function (words, ...rest) { drawn.push(words); write.call(this, words, ...rest); };
  text.value = "Two plus two is [MASK].";
  text.dispatchEvent(new Event("input"));
  document.getElementById("copy-picture").click();
  return drawn;
}"""


def test_the_picture_and_the_link(new_tab, site):
    tab = new_tab(permissions=["clipboard-read", "clipboard-write"])
    show(tab, site, "?text=Better+late+than+[MASK].")
    answered(tab)
    tab.get_by_role("button", name="Copy link").click()
    tab.get_by_role("button", name="Copied").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == tab.url
    tab.get_by_role("button", name="Copy picture").click()
    tab.locator("#copy-picture", has_text=re.compile("Copied|Saved")).wait_for()
    if tab.locator("#copy-picture").text_content() == "Copied":
        assert tab.evaluate("navigator.clipboard.read().then(([item]) => item.types)") == ["image/png"]
    assert "Better late than [MASK]." in tab.evaluate(DRAWN)  # what was answered, not what is being typed
    size = tab.evaluate(
        """async () => {
          const { drawPicture } = await import("/live/js/picture.js");
          const answer = { tokens: ["[CLS]", "a"], attentions: [[0.5, 0.5, 0.9, 0.1]], fills: [] };
          const sides = [{ title: "", text: "a", answer }];
          const blob = await drawPicture({ sides, n: 0, seen: answer, special: true, footer: "" });
          return (await createImageBitmap(blob)).width;
        }"""
    )
    assert size == 1200


def test_without_a_secure_address_the_link_is_not_said_to_be_copied(page):
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copy it from the address bar").wait_for()


def test_both_languages_say_everything(tab, site):
    tab.goto(f"{site}/live/")
    shapes = tab.evaluate(
        """async () => {
          const { languages } = await import("/live/strings.js");
          const kind = (one) => typeof one === "object" ? shape(one) : typeof one === "string" ? "text" : one.length;
          const shape = (value) => Object.entries(value).map(([key, one]) => [key, kind(one)]);
          const nodes = [...document.querySelectorAll("[data-say], [data-label]")];
          const used = nodes.map(({ dataset }) => dataset.say ?? dataset.label);
          const missing = used.filter((key) => typeof languages.en[key] !== "string");
          return [Object.values(languages).map((one) => JSON.stringify(shape(one))), missing];
        }"""
    )
    (english, chinese), missing = shapes
    assert english == chinese and missing == []
