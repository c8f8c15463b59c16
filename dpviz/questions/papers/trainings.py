"""How often a program trains and makes things private: its calls, through functions and loops; it is never run."""

import ast
import re

from dpviz.questions.papers.bindings import Bindings, Function, Reading, name_of

ENGINE = re.compile(
    r"^make_private|^(vectorized)?dp\w*optimizer\w*$|differentially_private_aggregate|^original_optimizer$"
)
TRAINS = re.compile(r"^(fit|step|minimize|apply_gradients|train\w*)$")
TRAINS_NOT = re.compile(r"split|loader|data|set|transform|test|eval")
ACCUMULATION = re.compile(r"accum|virtual_step|batchmemorymanager|physical_batch|micro_?batch|skip_step")
REPEATS = re.compile("seed|run|trial|fold|repe|restart|replic|attempt|teacher")  # what loops count that train anew
STEPWISE = re.compile("step|iter|update|batch")
ROUND_ABOUT = 3  # loops that stand for "unknown how often"
Loop = ast.For | ast.AsyncFor | ast.While | ast.comprehension
MOST_CHAINS = 3


class Trainings:
    """The structure of a program.

    Attributes:
        epochs, steps: lengths that loops give; unread ones too.
        several: what is done more than once, or may be → its lines.
    """

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self.epochs: list[Reading] = []
        self.steps: list[Reading] = []
        for node in bindings.nodes:
            if isinstance(node, ast.While):
                self.epochs.append(Reading(None, node.lineno))
            elif isinstance(node, ast.For | ast.AsyncFor) and (counted := _range(node.iter)) is not None:
                first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
                stepwise = STEPWISE.search(name_of(first)) and not _holds_loop(node)
                (self.steps if stepwise else self.epochs).extend(self._count(counted))
        self.several = {"engines": self._engines(), "trainings": self._training(), "accumulation": self._accumulation()}

    def _count(self, counted: ast.Call) -> list[Reading]:
        """How often `range` goes round."""
        if len(counted.args) not in (1, 2):
            return [Reading(None, counted.lineno)]
        *start, stop = counted.args
        length = ast.copy_location(ast.BinOp(stop, ast.Sub(), start[0]), counted) if start else stop
        return self._bindings.evaluate(length)

    def _chains(self, node: ast.AST, visited: tuple[str, ...] = ()) -> list[list[ast.AST]]:
        """For each way to `node` the loops around it, the innermost first; a few ways at most."""
        loops: list[ast.AST] = []
        below, up = node, self._bindings.parents.get(node)
        while up is not None:
            if isinstance(up, Loop) and below is not getattr(up, "iter", None):
                loops.append(up)
            elif isinstance(up, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                loops += up.generators
            elif isinstance(up, Function):
                return self._callers(up.name.lower(), loops, visited)
            below, up = up, self._bindings.parents.get(up)
        return [loops]

    def _callers(self, name: str, loops: list[ast.AST], visited: tuple[str, ...]) -> list[list[ast.AST]]:
        if name in visited or name in self._bindings.loose:
            return [loops + [*self._bindings.functions[name]] * ROUND_ABOUT]
        chains: list[list[ast.AST]] = []
        for call in self._bindings.calls.get(name, ()):
            if isinstance(call.func, ast.Attribute) and not self._methods(name):
                continue  # a method of something else, which is called alike
            chains += [loops + outer for outer in self._chains(call, (*visited, name))]
            if len(chains) > MOST_CHAINS:
                break
        return chains or [loops]

    def _methods(self, name: str) -> bool:
        """Whether a function of this name is defined elsewhere than at the top of the program."""
        return any(not isinstance(self._bindings.parents.get(f), ast.Module) for f in self._bindings.functions[name])

    def _engines(self) -> tuple[int, ...]:
        calls = [c for name, calls in self._bindings.calls.items() if ENGINE.search(name) for c in calls]
        made = self._bindings.calls.get("privacyengine", [])
        ways = [[loops for call in kind for loops in self._chains(call)] for kind in (calls, made)]
        many = any(len(chains) > 1 or any(chains) for chains in ways)
        lines = {call.lineno for call in (*calls, *made)} if many else set()
        return tuple(sorted(lines | self._passed_on(ENGINE)))

    def _passed_on(self, names: re.Pattern[str]) -> set[int]:
        """Lines that take such a method without calling it."""
        taken = (node for node in self._bindings.passed_on() if isinstance(node, ast.Attribute))
        return {node.lineno for node in taken if names.search(name_of(node))}

    def _training(self) -> tuple[int, ...]:
        """Lines of training calls, where there are several or the loops around one are not just epochs and batches."""
        calls = [
            call
            for name, calls in self._bindings.calls.items()
            for call in calls
            if TRAINS.search(name) and not TRAINS_NOT.search(name) and name not in self._bindings.functions
            if not (isinstance(call.func, ast.Attribute) and (name == "train" or _scheduler(call.func)))
        ]
        chains = [(call, loops) for call in calls for loops in self._chains(call)]
        plain = len(chains) <= 1 and all(self._plain(call, loops) for call, loops in chains)
        lines = set() if plain else {call.lineno for call in calls}
        return tuple(sorted(lines | self._passed_on(re.compile("^(step|fit)$"))))

    def _plain(self, call: ast.Call, loops: list[ast.AST]) -> bool:
        """Whether it is one training: batches in epochs, or counted steps; a loop over batches alone is one epoch."""
        ranges = [
            isinstance(loop, ast.For) and _range(loop.iter) is not None and not REPEATS.search(name_of(loop.target))
            for loop in loops
        ]
        if name_of(call) != "step":
            return len(loops) <= 1 and all(ranges)
        if loops and not ranges[0]:
            inner = loops[0]
            if not isinstance(inner, ast.For) or not _walks(inner.iter):
                return False
            if len(loops) == 1:
                self.epochs.append(Reading(1.0, inner.lineno))
        return len(loops) <= 2 and all(ranges[1:])

    def _accumulation(self) -> tuple[int, ...]:
        """Lines that name it, and steps that only some batches take."""
        lines = {line for name in self._bindings if ACCUMULATION.search(name) for line in self._bindings.lines(name)}
        gradients = [call.lineno for call in self._bindings.calls.get("backward", ())]
        lines |= set(gradients) if len(gradients) > 1 else set()
        for node in self._bindings.nodes:
            if isinstance(node, ast.expr) and not isinstance(node, ast.Call) and ACCUMULATION.search(name_of(node)):
                lines.add(node.lineno)
            elif isinstance(node, ast.Continue) or (
                isinstance(node, ast.Call) and name_of(node) in ("step", "zero_grad")
            ):
                lines |= self._conditions(node)
        return tuple(sorted(lines))

    def _conditions(self, node: ast.AST) -> set[int]:
        """Lines of conditions around a step, inside its loop."""
        lines: set[int] = set()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _scheduler(node.func):
            return lines
        while (up := self._bindings.parents.get(node)) is not None and not isinstance(up, Loop):
            if isinstance(up, ast.If | ast.IfExp | ast.BoolOp):
                lines.add(up.lineno)
            node = up
        return lines if up is not None else set()


def _range(node: ast.expr) -> ast.Call | None:
    """The `range` or `trange` that a loop goes through."""
    if not isinstance(node, ast.Call):
        return None
    if name_of(node) in ("tqdm", "enumerate", "reversed", "list", "zip") and node.args:  # zip ends with its first
        return _range(node.args[0])
    return node if name_of(node) in ("range", "trange") else None


def walked(node: ast.expr) -> ast.expr:
    """What a loop goes through, without the calls that count or show its progress."""
    while isinstance(node, ast.Call) and name_of(node) in ("enumerate", "tqdm") and node.args:
        node = node.args[0]
    return node


def _holds_loop(loop: ast.For | ast.AsyncFor) -> bool:
    return any(isinstance(node, ast.For | ast.AsyncFor | ast.While) for part in loop.body for node in ast.walk(part))


def _walks(node: ast.expr) -> bool:
    """Whether a loop goes through a loader once."""
    return isinstance(walked(node), ast.Name | ast.Attribute)


def _scheduler(function: ast.Attribute) -> bool:
    return "sched" in ast.unparse(function.value).lower()
