"""What a checked claim says of other questions' settings beside the run, which all pages share."""

from collections.abc import Mapping

from dpviz.questions.check.fields import CLAIM, KINDS, SAMPLER, UNSETTLED
from dpviz.questions.guarantee.fields import RUN_AS
from dpviz.questions.layout import Reader
from dpviz.questions.noise.settings import TARGET


def carried(get: Reader) -> Mapping[str, str]:
    """The claimed ε as a target, where somebody claims one, and how the program makes its batches; by fields' keys."""
    claim = {} if CLAIM.key in get(UNSETTLED) else {TARGET.key: TARGET.write(TARGET.nearest(CLAIM.write(get(CLAIM))))}
    kind = KINDS.get(get(SAMPLER))
    batches = "" if kind is None else kind.sampler or kind.kind
    return claim | {RUN_AS.key: batches if batches in RUN_AS.options else RUN_AS.default}
