"""Words for what private training code calls its quantities: tables of names, read from reader.toml."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from dpviz.questions import SIZE
from dpviz.questions.check.fields import BATCH, EPOCHS

WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("reader.toml").read_text("utf-8"))
NAMES, DERIVED, CHANGES = (
    {key: re.compile(words) for key, words in WORDS[table].items()} for table in ("names", "derived", "changes")
)
POISSON_NOT = {None, *WORDS["samplers"]["but_not_with"]}  # None stands for arguments that no text shows
ACCUMULATION = re.compile(r"\w*accum\w*steps?|\w*accum\w*iters?|\w*acc_steps")
PHYSICAL = re.compile(r"\w*physical\w*|batchmemorymanager")
MICROBATCHES = re.compile(r"num_micro_?batches")
UNTRANSLATED = {re.compile(names): problem for names, problem in WORDS["untranslated"].items()}
COUNTED = (BATCH.key, EPOCHS.key, SIZE.key, "steps")  # quantities that are counts
