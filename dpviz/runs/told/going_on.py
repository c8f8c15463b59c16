"""A told run that goes on in another program, as after a crash: a new run of its name that begins with its charges.

They stand in the settings of the new run, which are in the store before its first step. So there is no moment with less
than all of them, whenever the new program is killed.
"""

from dataclasses import replace

from dpviz.mechanisms import merge_events
from dpviz.runs.claims import charged_through, has_gap, mechanisms, told_settings_of
from dpviz.runs.reconcile import reconcile
from dpviz.runs.store.store import Store
from dpviz.runs.told.settings import ToldSettings
from dpviz.training.accounts.stepwise import encoded_events


def goes_on(terms: ToldSettings, name: str, store: Store) -> ToldSettings:
    """The settings of a run that goes on from the latest run of this name; `terms` where there is none.

    Steps that were charged ahead count as taken: the program may have taken them, and released what came out.

    Raises:
        ValueError: the settings differ from those of that run, or do not allow to go on.
        RuntimeError: it has not ended, or events of it are missing.
    """
    reconcile(store)
    same = [(one, settings) for one in store.runs() if one.name == name and (settings := told_settings_of(one))]
    mine = [pair for pair in same if not pair[0].imported]
    if not mine:
        return terms
    record, earlier = max(mine, key=lambda pair: pair[0].created)
    asked, had = terms.to_json(), replace(earlier, before=(), steps_before=0).to_json()
    if differ := [f"{key}={asked[key]!r} (was {had[key]!r})" for key in asked if asked[key] != had[key]]:
        raise ValueError(
            f"Expected the settings of the run {name!r}, which goes on; found {', '.join(differ)}. Give another name."
        )
    if not record.over:
        raise RuntimeError(f"Expected the run {name!r} to have ended, found it {record.state}: end its program first.")
    digest = store.digest(record.id, record.attempt)
    if record.restarts or has_gap(digest):
        raise RuntimeError(f"Expected all events of the run {name!r}, found a gap: nobody knows what it cost.")
    charged = merge_events((*earlier.charged_before, *mechanisms(digest)))
    on = replace(
        terms,
        before=tuple(map(tuple, encoded_events(charged))),
        steps_before=earlier.steps_before + charged_through(digest),
    )
    on.check()
    return on
