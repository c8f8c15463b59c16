"""Trainings in a program, counted by its calls through functions and loops; it is never run."""

import ast
import math
import re
from collections.abc import Sequence
from itertools import product

from dpviz.questions.pasted.bindings import Bindings, Function, Reading, name_of
from dpviz.questions.pasted.lengths import EPOCHS, STEPS, Length, Span

ENGINE = re.compile(
    r"^make_private|^(vectorized)?dp\w*optimizer\w*$|differentially_private_aggregate|^original_optimizer$"
)
TRAINS = re.compile(r"^(fit|step|minimize|apply_gradients|train\w*)$")
TRAINS_NOT = re.compile(r"split|loader|data|set|transform|test|eval")
ACCUMULATION = re.compile(r"accum|virtual_step|batchmemorymanager|physical_batch|micro_?batch|skip_step")
REPEATS = re.compile("seed|run|trial|fold|repe|restart|replic|attempt|teacher")  # what loops count that train anew
STEPS_TAKEN = re.compile(r"^(step|minimize|apply_gradients|train_on_batch)$")  # an optimiser's or an accountant's
DRAWS = re.compile(r"^(next|get_next|(next|get|draw|sample)_(mini_?)?batch(es)?)$")
HARMLESS = re.compile(  # calls that train nothing
    r"^(print|log\w*|info|debug|warning|write\w*|append|extend|range|len|str|int|float|format|sum|max|min|round|sorted|list"
    r"|dict|zip|enumerate|t?range|tqdm|iter|plot\w*|show|savefig|seed|manual_seed|item|join|zero_grad|clear|copy|eval"
    r"|to|cuda|cpu|device|time|perf_counter|get_epsilon|save|set_description|set_postfix|update_progress)$"
)
TESTS = re.compile("test|val")
LOADED = re.compile(r"load|data|batches|train(_?(set|ds|iter))?$")
ROUND_ABOUT = 3  # loops that stand for "unknown how often"
Loop = ast.For | ast.AsyncFor | ast.While | ast.comprehension
MOST_CHAINS = 3


class Trainings:
    """The structure of a program.

    Attributes:
        spans: the lengths that loops give.
        several: what is done more than once, or may be → its lines.
    """

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self.spans = self._spans()
        self.several = {"engines": self._engines(), "trainings": self._training(), "accumulation": self._accumulation()}

    # --- how long ---

    def _spans(self) -> list[Span]:
        """The length of each loop around a step, and of loops in which steps cannot be seen."""
        spans: list[Span] = []
        seen: set[ast.AST] = set()
        for call in self._sites():
            for loops in self._chains(call):
                seen |= set(loops)
                spans += self._around(loops, direct=True)
        loops_here = [node for node in self._bindings.nodes if isinstance(node, Loop)]
        for loop in loops_here:
            if isinstance(loop, ast.While):
                spans.append(Span((Length(EPOCHS, (Reading(None, loop.lineno),)),)))
            elif loop not in seen and self._factors(loop) and self._may_train(loop):
                inner = (node for node in self._under(loop) if isinstance(node, Loop) and self._factors(node))
                if not any(self._may_train(node) for node in inner):
                    for outer in self._chains(loop):
                        spans += self._around([loop, *outer], direct=False)
        return list(dict.fromkeys(spans))

    def _sites(self) -> list[ast.Call]:
        """Calls that take one step; where there are none, those that draw one batch."""
        for names in (STEPS_TAKEN, DRAWS):
            calls = [c for name, calls in self._bindings.calls.items() if names.search(name) for c in calls]
            calls = [c for c in calls if not (isinstance(c.func, ast.Attribute) and _scheduler(c.func))]
            calls = [c for c in calls if name_of(c) not in self._bindings.functions]
            if calls:
                return calls
        return []

    def _around(self, loops: Sequence[ast.AST], *, direct: bool) -> list[Span]:
        """The lengths of loops, the innermost first, around a step that is seen (`direct`) or may be there."""
        if not loops:
            return []
        inner, *_ = loops
        walk = direct and self._factors(inner) is None and not isinstance(inner, ast.While) and _walks(_iterated(inner))
        factors = [self._factors(loop) for loop in (loops[1:] if walk else loops)]
        if walk and not factors:
            return [] if self._is_open(inner) else [Span((Length(EPOCHS, (Reading(1.0, _line(inner)),), passes=True),))]
        counts = [[(Reading(None, _line(loops[-1])),) * 2] if one is None else one for one in factors]
        spans = []
        for way in list(product(*counts))[:MOST_CHAINS]:
            both = dict.fromkeys(tuple(Reading(*pair[end]) for pair in reversed(way)) for end in (0, 1))
            units = (EPOCHS,) if walk else self._units(inner, direct=direct)
            spans.append(Span(tuple(Length(unit, each, passes=walk) for unit in units for each in both)))
        return spans

    def _units(self, loop: ast.AST, *, direct: bool) -> tuple[str, ...]:
        """What the innermost counted loop counts: steps where one is seen directly in it, and nothing in it may loop.

        Where no step is seen, it counts epochs if it says so, and else one or the other.
        """
        named = name_of(_target(loop))
        if direct:
            return (STEPS,) if "epoch" not in named and not self._loops_again(loop) else (EPOCHS, STEPS)
        called = {name_of(node) for node in self._under(loop) if isinstance(node, ast.Call)}
        stepwise = re.search("step|iter|update|batch", named)
        says_epochs = "epoch" in named or (not stepwise and any("epoch" in name for name in called))
        return (EPOCHS,) if says_epochs else (EPOCHS, STEPS)

    def _factors(self, loop: ast.AST) -> list[tuple[Reading, Reading]] | None:
        """How often a loop over a range goes round, (the longest, the shortest) of each value; None for other loops."""
        if (counted := _range(_iterated(loop))) is None:
            return None
        ends = [self._bindings.evaluate(end) for end in counted.args]
        if not 1 <= len(ends) <= 3 or any(len(end) != 1 for end in ends[:-1] if len(ends) == 3):
            return [(Reading(None, counted.lineno),) * 2]
        if len(ends) == 3:
            values = [end[0].value if len(end) == 1 else None for end in ends]
            return [_range_of(values, ends[1][0].line if ends[1] else counted.lineno)]
        starts, stops = ([Reading(0.0, counted.lineno)], ends[0]) if len(ends) == 1 else ends
        return [_resumed(start, stop) for start in starts for stop in stops] or [(Reading(None, counted.lineno),) * 2]

    def _under(self, loop: ast.AST) -> list[ast.AST]:
        """All that a loop repeats."""
        if isinstance(loop, ast.comprehension):
            whole = self._bindings.parents[loop]
            return [node for node in ast.walk(whole) if node is not whole and node is not loop]
        return [node for part in getattr(loop, "body", ()) for node in ast.walk(part)]

    def _may_train(self, loop: ast.AST) -> bool:
        """Whether a loop calls what may take a step."""
        calls = (node for node in self._under(loop) if isinstance(node, ast.Call))
        return any(not HARMLESS.search(name_of(call)) and not _is_mode(call) for call in calls)

    def _loops_again(self, loop: ast.AST) -> bool:
        """Whether something under a loop, beside its own step, may take steps in a loop of its own."""
        for node in self._under(loop):
            if isinstance(node, Loop) and any(self._trains(call) for call in self._under(node)):
                return True
            if isinstance(node, ast.Call):
                defined = self._bindings.functions.get(name_of(node), ())
                if any(isinstance(part, Loop) for function in defined for part in ast.walk(function)):
                    return True
                if not defined and self._trains(node) and not STEPS_TAKEN.search(name_of(node)):
                    return True
        return False

    def _trains(self, node: ast.AST) -> bool:
        """Whether a call may take steps: by its name, or because it is given data to go through."""
        if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Attribute) and _scheduler(node.func)):
            return False
        name = name_of(node)
        if DRAWS.search(name) or TESTS.search(name) or TRAINS_NOT.search(name):
            return False
        if _is_mode(node):
            return False
        given = (name_of(argument) for argument in node.args)
        loaded = name not in ("iter", "enumerate", "tqdm", "len", "zip") and any(
            LOADED.search(one) and not TESTS.search(one) for one in given
        )
        return bool(TRAINS.search(name)) or loaded

    def _is_open(self, node: ast.AST) -> bool:
        """Whether it stands in a function that is not called here, so that nobody sees how often it runs."""
        while (up := self._bindings.parents.get(node)) is not None:
            if isinstance(up, Function):
                return not self._bindings.calls.get(up.name.lower()) or up.name.lower() in self._bindings.loose
            node = up
        return False

    def repeats(self, node: ast.AST) -> int | None:
        """How often a node runs; None where its loops, or the ways to it, are not counted ones."""
        chains = self._chains(node)
        factors = [self._factors(loop) for loops in chains for loop in loops]
        if len(chains) != 1 or any(not each or len(each) != 1 or each[0][0] != each[0][1] for each in factors):
            return None
        counts = [each[0][0].value for each in factors if each]
        whole = all(count is not None and count >= 1.0 and count == int(count) for count in counts)
        return math.prod(int(count) for count in counts if count) if whole else None

    @property
    def trained(self) -> tuple[int, ...]:
        """Lines of calls that train, or make a training private."""
        calls = [call for calls in self._bindings.calls.values() for call in calls]
        return tuple(call.lineno for call in calls if self._is_trained(call))

    def _is_trained(self, call: ast.Call) -> bool:
        name = name_of(call)
        scheduled = isinstance(call.func, ast.Attribute) and _scheduler(call.func)
        return bool(ENGINE.search(name)) or (
            bool(re.search("^(fit|backward)$", name) or STEPS_TAKEN.search(name)) and not (scheduled or _accounts(call))
        )

    # --- how often ---

    def _chains(self, node: ast.AST, visited: tuple[str, ...] = ()) -> list[list[ast.AST]]:
        """For each way to `node` the loops around it, the innermost first; a few ways at most."""
        loops: list[ast.AST] = []
        below, up = node, self._bindings.parents.get(node)
        while up is not None:
            if isinstance(up, Loop) and below is not getattr(up, "iter", None):
                loops.append(up)
            elif isinstance(up, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                loops += reversed(up.generators)
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
        plain = self._once(chains) and all(self._plain(call, loops) for call, loops in chains)
        lines = set() if plain else {call.lineno for call in calls}
        return tuple(sorted(lines | self._passed_on(re.compile("^(step|fit)$"))))

    def _once(self, chains: list[tuple[ast.Call, list[ast.AST]]]) -> bool:
        """Whether all is one call of a training, and perhaps its accountant's call beside it, in the same loops."""
        accounts = [loops for call, loops in chains if _accounts(call)]
        others = [loops for call, loops in chains if not _accounts(call)]
        return len(accounts) <= 1 and len(others) <= 1 and (not accounts or not others or accounts == others)

    def _plain(self, call: ast.Call, loops: list[ast.AST]) -> bool:
        """Whether it is one training: batches in epochs, or counted steps."""
        ranges = [self._factors(loop) is not None and not REPEATS.search(name_of(_target(loop))) for loop in loops]
        if loops and not ranges[0] and STEPS_TAKEN.search(name_of(call)):
            return not isinstance(loops[0], ast.While) and _walks(_iterated(loops[0])) and all(ranges[1:])
        return all(ranges)

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


def _is_mode(call: ast.Call) -> bool:
    """Whether it is a model's own `train()`, which only switches its mode."""
    return isinstance(call.func, ast.Attribute) and name_of(call) in ("train", "eval") and not call.args


def _target(loop: ast.AST) -> ast.AST:
    """The variable that counts."""
    target = getattr(loop, "target", loop)
    return target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target


def _iterated(loop: ast.AST) -> ast.expr:
    """What a loop goes through; a while loop's condition, and nothing for a function that stands for many calls."""
    return getattr(loop, "iter", None) or getattr(loop, "test", None) or ast.Constant(None)


def _line(loop: ast.AST) -> int:
    return loop.target.lineno if isinstance(loop, ast.comprehension) else getattr(loop, "lineno", 0)


def _accounts(call: ast.Call) -> bool:
    """Whether it is an accountant's step."""
    return any(word.arg in ("noise_multiplier", "sample_rate") for word in call.keywords)


def _resumed(start: Reading, stop: Reading) -> tuple[Reading, Reading]:
    """The longest and the shortest length of a range: one that starts above 1 goes on with an earlier run."""
    if start.value is None or stop.value is None:
        return (Reading(None, stop.line),) * 2
    rest = Reading(float(stop.value) - float(start.value), stop.line)
    return (Reading(float(stop.value), stop.line) if start.value > 1.0 else rest, rest)


def _range_of(values: list[float | bool | None], line: int) -> tuple[Reading, Reading]:
    """The length of a range with a step."""
    numbers = [int(value) for value in values if value is not None and value == int(value)]
    count = float(len(range(*numbers))) if len(numbers) == 3 and numbers[2] else None
    return (Reading(count, line),) * 2


def _walks(node: ast.expr) -> bool:
    """Whether a loop goes through a loader once."""
    return isinstance(walked(node), ast.Name | ast.Attribute)


def _scheduler(function: ast.Attribute) -> bool:
    return "sched" in ast.unparse(function.value).lower()
