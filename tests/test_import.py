import subprocess
import sys

HEAVY = {
    "transformers",
    "huggingface_hub",
    "lightning",
    "tyro",
    "sklearn",
    "matplotlib",
    "altair",
    "streamlit",
    "captum",
}


def test_import_is_light():
    code = "import bertlab, sys; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not HEAVY & set(loaded.split())


def test_loading_a_model_is_light():
    """Drawing numbers on the "meta" device would import a compiler's worth of modules."""
    code = "import bertlab, sys; bertlab.BertModel.from_pretrained('storyworld-tiny'); print('sympy' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "False"
