"""One event loop for all that is written as coroutines: what one of them opens, later ones can go on using."""

import asyncio
from collections.abc import Coroutine
from functools import cache
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
    """Run `work` on the loop and return its result. Raises TimeoutError when it took longer than `timeout` seconds."""

    async def limited() -> T:
        return await asyncio.wait_for(work, timeout)

    return asyncio.run_coroutine_threadsafe(limited(), _loop()).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="environments", daemon=True).start()
    return loop
