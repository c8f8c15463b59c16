"""A vocabulary of configurations: keys and values about batches, neighbours and the protected unit.

>>> meaning(SAMPLING, "RandomSampler"), meaning(SAMPLING, "fixed-size"), meaning(NEIGHBOURS, "REPLACE_ONE")
('shuffled', 'fixed', 'replace')
>>> meaning(SAMPLING, "random")  # Poisson or shuffled: who knows
''
"""

import re
from collections.abc import Mapping

# A key's value as a word → the choice of a field; words are written without signs between their parts.
SAMPLING: Mapping[str, str] = {
    word: choice
    for choice, words in {
        "poisson": "poisson poissonsampling poissonsampler poissonsubsampling poissonsampled poissonbatches bernoulli "
        "bernoullisampling uniformwithreplacementsampler dpdataloader",
        "shuffled": "shuffle shuffled shuffling shuffledbatches reshuffle reshuffled reshuffling randomreshuffling "
        "randomshuffle randomshuffling randomsampler permutation randompermutation shuffleeachepoch",
        "partition": "sequential sequentialsampler inorder fixedorder unshuffled noshuffle fixedpartition fixedbatches "
        "onceperepoch",
        "fixed": "fixed fixedsize fixedbatchsize fixedsizebatches fixedsizesampling withoutreplacement "
        "samplingwithoutreplacement sampledwithoutreplacement uniformwithoutreplacement fixedsizewithoutreplacement "
        "swor",
        "replacement": "withreplacement samplingwithreplacement sampledwithreplacement fixedsizewithreplacement swr",
        "allocation": "ballsinbins ballsandbins randomallocation",
    }.items()
    for word in words.split()
}
NEIGHBOURS: Mapping[str, str] = {
    word: choice
    for choice, words in {
        "add_remove": "addremove addorremove addandremove addremoveone addorremoveone unbounded unboundeddp removeone "
        "leaveoneout addorremoveexample",
        "replace": "replace replaceone replacement substitute substitution substituteone bounded boundeddp swap "
        "changeone replaceoneexample",
    }.items()
    for word in words.split()
}
ONE_EXAMPLE = re.compile(r"(?:example|sample|record|row|item|instance)(?:level)?(?:dp)?|datapoint|image")
# Keys whose value is such a word.
OF_BATCHES = r"(?:(?:batch|mini_?batch|data|train|training|dp|client|example|user)_)?"
SAMPLING_KEY = re.compile(
    rf"{OF_BATCHES}(?:sampler|sampling|subsampling|batching)(?:_(?:type|name|method|mode|scheme|strategy|kind|class|cls))?"
    r"|batch_(?:selection|selector|method|type|strategy|order)|data_order"
)
NEIGHBOURS_KEY = re.compile(
    r"(?:dp_|privacy_)?(?:adjacency|neighbou?rs|neighbou?ring|neighbou?rhood)(?:_(?:relation|type|definition|notion))?"
)
UNIT_KEY = re.compile(r"(?:privacy|dp|protected)_(?:unit|level|granularity)|unit_of_privacy|dp_unit|granularity")
# Keys whose value is a switch → the choice where it is on, and where it is off; "" is no choice of a form, None none.
SAMPLING_SWITCHES: Mapping[re.Pattern[str], tuple[str | None, str | None]] = {
    re.compile(r"(?:use_|is_|enable_)?poisson(?:_sampling|_subsampling|_batches|_batching)?"): ("poisson", "shuffled"),
    re.compile(r"(?:sample_|sampling_)?with_replacement|replacement"): ("replacement", None),
    re.compile(r"(?:sample_|sampling_)?without_replacement|fixed_size|fixed_batch(?:_size)?"): ("fixed", ""),
}
SHUFFLE_SWITCH = re.compile(
    r"(?:random_|re)?shuffled?(?:_(?:data|train|batches|dataset|each_epoch))?|reshuffle_each_iteration"
)
UNIT_SWITCH = re.compile(r"(?:user|client|person|patient)_level(?:_dp|_privacy)?")
NOTHING = frozenset(("", "none", "null", "nil", "na", "default", "unspecified"))
SWITCH_WORDS: Mapping[str, bool] = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def word_of(text: str) -> str:
    """A value without signs between its parts, in lower case."""
    return re.sub(r"[\W_]+", "", text).lower()


def meaning(table: Mapping[str, str], text: str) -> str | None:
    """The choice that a word means; "" where it is not understood, None where it says nothing."""
    word = word_of(text)
    return None if word in NOTHING else table.get(word, "")


def is_key(name: str) -> bool:
    """Whether a name in lower case says something of batches, neighbours or the unit."""
    keys = (SAMPLING_KEY, NEIGHBOURS_KEY, UNIT_KEY, SHUFFLE_SWITCH, UNIT_SWITCH, *SAMPLING_SWITCHES)
    return any(key.fullmatch(name) for key in keys)
