"""A TCP relay on loopback that delays what passes, as a distant server would.

What it cannot show: packets that wait for an acknowledgement of the far end (Nagle's algorithm), losses, and a narrow
link. A new connection waits for one round trip, as its handshake would.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

CHUNK = 2**16
LOOK = 0.02  # seconds after which a connection sees that it is cut


class Relay:
    """Passes every connection on to `port`; `round_trip` is in seconds. While it is `down`, nothing passes; while it is
    `cut`, there are no connections either."""

    def __init__(self, port: int, round_trip: float) -> None:
        self.port, self.round_trip = port, round_trip
        self.open = threading.Event()
        self.open.set()
        self.cut = False

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self.round_trip)
        if self.cut:
            writer.close()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.close()
            return
        with suppress(asyncio.CancelledError):  # the relay ends
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            with suppress(ConnectionError):
                while data := await reader.read(CHUNK):
                    chunks.put_nowait((loop.time() + self.round_trip / 2, data))
            chunks.put_nowait((loop.time() + self.round_trip / 2, b""))

        reading = asyncio.create_task(read())
        try:
            while not self.cut:
                try:
                    due, data = await asyncio.wait_for(chunks.get(), LOOK)
                except TimeoutError:
                    continue
                await asyncio.sleep(max(due - loop.time(), 0.0))
                while not self.open.is_set():
                    await asyncio.sleep(LOOK)
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            reading.cancel()
            writer.close()

    @property
    def down(self) -> bool:
        return not self.open.is_set()

    @down.setter
    def down(self, value: bool) -> None:
        (self.open.clear if value else self.open.set)()


@contextmanager
def delayed(address: str, round_trip: float) -> Iterator[tuple[str, Relay]]:
    """The address of a relay to `address`, and the relay, in a thread of its own."""
    relay, ready = Relay(int(urlsplit(address).port or 80), round_trip), threading.Event()
    loop, end, port = asyncio.new_event_loop(), asyncio.Event(), 0

    async def serve() -> None:
        nonlocal port
        async with await relay.serve() as server:
            port = server.sockets[0].getsockname()[1]
            ready.set()
            await end.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())  # connections end with it

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{port}", relay
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
