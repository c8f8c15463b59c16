"""How much one visitor of a public server may ask for: enough for a class behind one address, too little to block all.

Addresses are those that the server sees, which are those that its proxy names. The last half of an IPv6 address is the
visitor's own choice, so that all addresses with the same first half count as one.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address, ip_address

REMEMBERED = 10_000  # visitors whose spending is kept
SOCKETS, SOCKETS_OF_ADDRESS = 400, 120  # sessions at once
TURNS = 4  # pages that are run at once: more take the interpreter from each other, and from all that is to be answered
LONGEST_TURN = 10.0  # seconds

Clock = Callable[[], float]


class Allowance:
    """What may be spent: `most` at once, and `rate` a second in the long run."""

    def __init__(self, most: float, rate: float, clock: Clock = time.monotonic) -> None:
        self._most, self._rate, self._clock = most, rate, clock
        self._left, self._at = most, clock()

    def _now(self) -> float:
        now = self._clock()
        self._left, self._at = min(self._most, self._left + self._rate * (now - self._at)), now
        return self._left

    def spend(self) -> bool:
        """Spend one, if it is there."""
        if self._now() < 1.0:
            return False
        self._left -= 1.0
        return True

    def wait(self) -> float:
        """Seconds until one is there."""
        return max(0.0, (1.0 - self._now()) / self._rate)


class Allowances:
    """An allowance for each visitor; of too many, who came last keeps theirs."""

    def __init__(self, most: float, rate: float, clock: Clock = time.monotonic) -> None:
        self._most, self._rate, self._clock = most, rate, clock
        self._by_name: OrderedDict[Hashable, Allowance] = OrderedDict()

    def of(self, name: Hashable) -> Allowance:
        """The allowance of this visitor."""
        if name not in self._by_name:
            self._by_name[name] = Allowance(self._most, self._rate, self._clock)
        self._by_name.move_to_end(name)
        while len(self._by_name) > REMEMBERED:
            self._by_name.popitem(last=False)
        return self._by_name[name]


class Sockets:
    """Sessions at once, of each address and of all."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def refusal(self, address: str) -> str:
        """Why this address cannot open another one; "" if it can."""
        if self._open.total() >= SOCKETS:
            return f"This server is full: {SOCKETS} visitors are here. Try again in a minute."
        if self._open[address] >= SOCKETS_OF_ADDRESS:
            return f"Your network has {SOCKETS_OF_ADDRESS} pages open, which is the most. Close one, and try again."
        return ""

    def enter(self, address: str) -> None:
        self._open[address] += 1

    def leave(self, address: str) -> None:
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


class Turns:
    """Turns that all sessions share. Each address has a line of its own, and the lines are served one after the other:
    whoever opens many sessions makes their own line long."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def acquire(self, address: str) -> None:
        """Wait for one in this address' line."""
        if self._free:
            self._free -= 1
            return
        own = asyncio.get_running_loop().create_future()
        self._lines.setdefault(address, deque()).append(own)
        try:
            await own
        except asyncio.CancelledError:
            if not own.cancelled():  # it came while the session left
                self.release()
            raise

    def release(self) -> None:
        """Give one to the first of the line that waited longest."""
        while self._lines:
            address, line = self._lines.popitem(last=False)
            first = line.popleft()
            if line:
                self._lines[address] = line
            if not first.done():  # it has not left
                first.set_result(None)
                return
        self._free += 1


class Turn:
    """A session's turn to have its page run: only so many run at once, and the others wait in line.

    It ends when the page was run, and after `LONGEST_TURN` at the latest.

    Args:
        turns: those of all sessions.
        address: the visitor's.
    """

    def __init__(self, turns: Turns, address: str) -> None:
        self._turns, self._address = turns, address
        self._end: asyncio.TimerHandle | None = None

    async def take(self) -> None:
        """Wait for a turn; a session that has one keeps it."""
        if self._end is None:
            await self._turns.acquire(self._address)
            self._end = asyncio.get_running_loop().call_later(LONGEST_TURN, self.give)

    def give(self) -> None:
        """Let the next session run its page."""
        if self._end is not None:
            self._end.cancel()
            self._end = None
            self._turns.release()


def visitor(host: str) -> str:
    """The name of a visitor in counts: the address, of version 6 its first half.

    >>> visitor("2001:db8:1:2:3:4:5:6"), visitor("::ffff:10.0.0.1")
    ('2001:db8:1:2::', '10.0.0.1')
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> 64 << 64))
