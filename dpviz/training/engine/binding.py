"""A check that only a training's own steps change its network and its optimiser's state.

Noise protects what a step makes of the data. Another `backward()` and `step()` in the same loop, a parameter that is
unfrozen or given to the optimiser later, a momentum fed with plain gradients, a loss or a data set that writes weights
while a step runs: no noise reaches these. So parameters, modules and optimiser are bound by identity, and their numbers
by content (`snapshot`), which shows writes that version counters miss (`.data`, NumPy). They are compared once a step,
right before the optimiser moves: no code of the user's runs between, so what it moves is what its last step left.

On an accelerator the comparison is made there, and read with others: every `READ_EVERY` steps, before anything is
claimed, saved or recorded, and at the end of the plan. Steps after a change may then have been taken: they never have
a claim, and no other follows them.

What cannot be seen is trusted: that the optimiser reads gradients and its own state alone, that no other thread writes
while the optimiser moves, and what the program does with the data elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import optimizer

from dpviz.training.engine.snapshot import Fingerprint, Snapshot, named_leaves
from dpviz.training.engine.vectors import shaped
from dpviz.training.words import refusal

READ_EVERY = 10  # steps whose comparisons on an accelerator are read together


class Binding:
    """One network and one optimiser.

    Args:
        network: With trainable parameters of one type on one device.
        optimiser: Over parameters of the network; frozen ones stay as they are.

    Attributes:
        trained: The trainable parameters, in the network's order.

    Raises:
        ValueError: for what cannot be trained so, with the way out.
    """

    def __init__(self, network: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        self._network, self._optimiser = network, optimiser
        self.trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        if not self.trained:
            raise refusal("no parameters")
        if len({(parameter.dtype, parameter.device) for parameter in self.trained}) > 1:
            raise refusal("several types")
        if isinstance(optimiser, torch.optim.LBFGS):
            raise refusal("LBFGS")
        self._modules = dict(network.named_modules())
        self._parameters = dict(network.named_parameters())
        self._trained = {name for name, parameter in self._parameters.items() if parameter.requires_grad}
        self._identities = self._identities_now()
        self._held = self._held_now()
        if not _ids(self._held) <= _ids(network.parameters()):
            raise refusal("foreign parameters")
        # What a step may not change, as it was before the first one; what the last step left; the optimiser's settings
        # when a step began that has not ended.
        self._fixed: Snapshot[_Name] | None = None
        self._left: Snapshot[_Name] | None = None
        self._settings: Snapshot[_Name] | None = None
        self._after = 0
        # Fingerprints of the trained parameters as each step left them, in place of the parameters themselves.
        self._fingerprint: Fingerprint | None = None
        self._released: set[tuple[int, ...]] = set()
        # Of steps since they were last read: after which one, and, where its numbers lie, whether the step found others
        # than that one left, and the fingerprint of what it left itself, int64 (3,).
        self._unread: list[tuple[int, Tensor]] = []
        self._spoilt: int | None = None
        self._reading = threading.Lock()

    def begin(self, after: int) -> None:
        """Before anything of a step: the first one takes the numbers, which may be anything until then.

        Args:
            after: The last step that was taken, for the words.

        Raises:
            ValueError: where modules, parameters or the optimiser's are others, or numbers were found changed, with
                the way out.
        """
        if len(self._unread) >= READ_EVERY or self._spoilt is not None:
            self.settle()
        self._refuse_others()
        if self._fixed is None or self._left is None:
            self._take()
        self._refuse_settings()
        self._settings, self._after = Snapshot(self._settings_now()), after

    def _take(self) -> None:
        """The numbers as they are now, for those that the last step left."""
        self._fixed, self._left = (Snapshot(now(self._parameters)) for now in (self._fixed_now, self._moved_now))
        trained = self._trained_of(self._parameters)
        self._kinds = [(part.shape, part.dtype) for part in trained]
        self._fingerprint = self._fingerprint or Fingerprint(trained)
        self._released.add(tuple(self._fingerprint(trained).tolist()))

    def settle(self) -> None:
        """Reads what steps found on an accelerator.

        Raises:
            ValueError: where numbers were changed before one of them; no step of this training follows.
        """
        if (after := self.spoilt) is not None:
            raise refusal("changed before", step=after)

    @property
    def spoilt(self) -> int | None:
        """The step after which numbers were changed that later steps were taken from; None where none were.

        Waits for the device where steps are unread.
        """
        with self._reading:
            if not self._unread:
                return self._spoilt
            if self.trained[0].is_cuda:
                torch.cuda.synchronize(self.trained[0].device)  # steps may have run on another stream than this one
            unread = list(self._unread)
            numbers = torch.stack([row for _, row in unread]).tolist()
            for (after, _), (differs, *left) in zip(unread, numbers, strict=True):
                if differs and self._spoilt is None:
                    self._spoilt = after
                self._released.add(tuple(left))
            del self._unread[: len(unread)]  # not before all was read
        return self._spoilt

    def _refuse_others(self) -> None:
        if self._identities_now() != self._identities:
            if [id(module) for module in self._network.modules()] != [id(module) for module in self._modules.values()]:
                raise refusal("other modules")
            now = dict(self._network.named_parameters())
            for name in {**self._parameters, **now}:
                parameter = self._parameters.get(name)
                trains = parameter is not None and parameter.requires_grad
                if parameter is not now.get(name) or trains != (name in self._trained):
                    raise refusal("other parameter", name=name)
        if _ids(self._held_now()) != _ids(self._held):
            raise refusal("other groups")
        own = (self._optimiser._optimizer_step_pre_hooks, self._optimiser._optimizer_step_post_hooks)
        if any(own) or optimizer._global_optimizer_pre_hooks or optimizer._global_optimizer_post_hooks:
            raise refusal("optimiser hooks")

    def _identities_now(self) -> list[Any]:
        """Which modules and parameters the network is made of, and which are trained."""
        children = ((name, id(child)) for module in self._modules.values() for name, child in module._modules.items())
        parameters = (item for module in self._modules.values() for item in module._parameters.items())
        return [*children, *((name, id(p), p is not None and p.requires_grad) for name, p in parameters)]

    def step(self, gradient: Tensor) -> None:
        """Lets the optimiser make what it will of a noisy mean gradient (p,), and takes what it leaves.

        Raises:
            ValueError: naming what was changed and the way out; nothing was released then.
        """
        self._refuse_others()
        assert self._fixed is not None
        assert self._left is not None
        assert self._fingerprint is not None
        compared = (
            self._left.differs(self._moved_now(self._parameters)),
            self._fixed.differs(self._fixed_now(self._parameters)),
        )
        if any(differs is True for differs in compared):
            self._refuse_changes(self._after)
        self._refuse_settings()
        self._clear_gradients()  # gradients that somebody left, of frozen parameters too
        for parameter, part in zip(self.trained, shaped(gradient.to(self.trained[0].dtype), self.trained), strict=True):
            parameter.grad = part
        try:
            self._optimiser.step()
        finally:
            left = self._fingerprint(self._trained_of(self._parameters))
            unknown = (each.long().to(left.device) for each in compared if isinstance(each, Tensor))
            # Before what it left counts as left: no claim is made of it in between.
            self._unread.append((self._after, torch.cat((sum(unknown, left.new_zeros(())).view(1), left))))
            self._left = self._left.renewed(self._moved_now(self._parameters))
            self._clear_gradients()
        self._settings = None  # from here on a scheduler may change them

    def check(self, after: int) -> None:
        """Refuses network and optimiser where they are not as the last step, `after`, left them.

        Raises:
            ValueError: naming what was changed and the way out.
        """
        self.settle()
        self._refuse_others()
        self._refuse_changes(after)

    def _refuse_changes(self, after: int) -> None:
        if (changed := next(self._changes(self._parameters), None)) is not None:
            raise refusal("changed", changed=_in_words(*changed), step=after)

    def state_dict(self) -> dict[str, Any]:
        """Of network and optimiser, as theirs."""
        return {"network": self._network.state_dict(), "optimiser": self._optimiser.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], after: int) -> None:
        """Takes what step `after` left, as it was asked for then.

        Raises:
            ValueError: where numbers were changed before a step that was taken.
        """
        self.settle()
        self._network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._take()
        self._settings, self._after = None, after

    def _refuse_settings(self) -> None:
        if self._settings is not None and (changed := self._settings.changed(self._settings_now())) is not None:
            raise refusal("changed settings", changed=_in_words(*changed))

    @property
    def changed(self) -> str:
        """The first of the network's numbers that is not as the last step left it; empty where all are.

        Empty too where they are as an earlier step of this training left them, or as it found them: these were
        released then, and to go back to them releases nothing of the data.
        """
        if self.spoilt is not None:
            return "a number of the network or of its optimiser"
        parameters = dict(self._network.named_parameters())  # those that lie there now, whoever put them there
        others = [name for name in self._changes(parameters) if name[0] in ("parameter", "buffer")]
        trained = {("parameter", name) for name in self._trained}
        if others and trained.issuperset(others) and self._was_released(self._trained_of(parameters)):
            return ""
        return _in_words(*others[0]) if others else ""

    def _trained_of(self, parameters: Mapping[str, Tensor]) -> list[Tensor]:
        """The trained ones of these parameters."""
        return [parameter for name, parameter in parameters.items() if name in self._trained]

    def _was_released(self, trained: list[Tensor]) -> bool:
        """Whether a step left these, or this training found them."""
        if self._fingerprint is None or [(part.shape, part.dtype) for part in trained] != self._kinds:
            return False
        return tuple(self._fingerprint(trained).tolist()) in self._released

    def _changes(self, parameters: Mapping[str, Tensor]) -> Iterator[_Name]:
        """What is not as the last step left it, of the network with these parameters, and of the optimiser."""
        if self._fixed is None or self._left is None:
            return
        yield from self._left.changes(self._moved_now(parameters))
        yield from self._fixed.changes(self._fixed_now(parameters))

    def _clear_gradients(self) -> None:
        """Not the optimiser's own `zero_grad`, which could be anything."""
        for parameter in chain(self.trained, self._held):
            parameter.grad = None

    def _held_now(self) -> list[Tensor]:
        return [parameter for group in self._optimiser.param_groups for parameter in group["params"]]

    def _fixed_now(self, parameters: Mapping[str, Tensor]) -> dict[_Name, Tensor]:
        """Frozen ones of these parameters, and buffers."""
        values: dict[_Name, Tensor] = {
            ("parameter", name): parameter for name, parameter in parameters.items() if name not in self._trained
        }
        return values | {("buffer", name): buffer for name, buffer in self._network.named_buffers()}

    def _moved_now(self, parameters: Mapping[str, Tensor]) -> dict[_Name, Any]:
        """Trained ones of these parameters, and what the optimiser remembers of each of its own and of all."""
        values: dict[_Name, Any] = {
            ("parameter", name): parameter for name, parameter in parameters.items() if name in self._trained
        }
        places = {id(parameter): at for at, parameter in enumerate(self._held)}
        state: Mapping[Any, Any] = self._optimiser.state
        for key, value in state.items():
            owner = places.get(id(key), "unknown" if isinstance(key, Tensor) else repr(key)[:40])
            values |= {("state", owner, *path): leaf for path, leaf in named_leaves(value)}
        return values

    def _settings_now(self) -> dict[_Name, Any]:
        """The learning rate and what else a scheduler may change between two steps."""
        groups = ({k: v for k, v in group.items() if k != "params"} for group in self._optimiser.param_groups)
        return {("group", *path): leaf for path, leaf in named_leaves(list(groups))}


# "parameter" or "buffer" and its name; "state" and of which parameter, by its number, or under which key; "group" and
# its number; and the way there.
_Name = tuple[Any, ...]


def _in_words(kind: str, owner: Any, *path: Any) -> str:
    where = " ".join(map(str, path))
    return {
        "parameter": f"parameter {owner!r}",
        "buffer": f"buffer {owner!r}",
        "state": f"the optimiser's {where} of its parameter {owner}".replace("  ", " "),
        "group": f"{where} of group {owner}",
    }[kind]


def _ids(values: Any) -> set[int]:
    return {id(value) for value in values}
