# The decisions of this project. README.md asks them in order; `make -n all` shows what becomes of them.

# Step 1: the text. Only used while texts/ is empty: the docstrings of these packages.
PACKAGES = numpy scipy torch

# Step 2: the vocabulary. Sizes to try in corpus.md, and the one that is used.
# With the model of step 3 the rule of chapter 18 (table no larger than the layers) allows 12 x 2 x 128 = 3072.
SIZES = 1000 2000 3000 6000 12000
VOCABULARY = 3000

# Step 3: pretraining.
PRETRAIN = --minutes 10 --set num_hidden_layers=2 hidden_size=128

# Step 4: the labels, and the task that is learned from them. COUNT only counts while labels/ is empty.
COUNT = 2000
TASK = sentence
FINETUNE = --seed 0
