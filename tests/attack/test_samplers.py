"""What the best attack shows of every sampler stays below its claim, and passes it where the noise is half."""

import pytest

from dpviz.training.samplers import SAMPLERS
from tools.attack.samplers import audit

SMALL = {"examples": 20, "batch": 4, "steps": 10, "runs": 4000}


CORRELATED = [("order", {"decay": 0.8}), ("order", {"band": 4})]


@pytest.mark.parametrize(("key", "changed"), [(key, {}) for key in SAMPLERS] + CORRELATED)
@pytest.mark.one_of(2)
def test_an_attack_shows_no_more_than_is_claimed_and_sees_half_the_noise(key, changed):
    # Sums move by twice as much, and a large ε could not be shown in so few runs.
    noise = 2.0 if key == "fixed" else 3.0 if key == "order" else 1.0
    honest = audit(SAMPLERS[key], **SMALL, noise=noise, **changed)
    halved = audit(SAMPLERS[key], **SMALL, noise=noise, noise_added=noise / 2, **changed)
    assert 0.3 * honest.claim < honest.shown <= honest.claim
    assert halved.shown > halved.claim == honest.claim
