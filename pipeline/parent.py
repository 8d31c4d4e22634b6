"""Worker processes end with the process that started them, even when that one is killed."""

import os
from multiprocessing import parent_process
from threading import Thread


def end_with_parent() -> None:
    """What a worker does first: else it would wait for work for ever once its parent was killed."""
    Thread(target=_end, daemon=True).start()


def _end() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
