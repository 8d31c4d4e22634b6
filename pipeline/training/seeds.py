"""Seeds for single draws: what a step draws hangs on where it stands, never on how often the process was started."""

import hashlib


def derive_seed(seed: int, *place: str | int) -> int:
    """A seed in [0, 2**63) for one draw of a run, such as `derive_seed(seed, "rollouts", step, round)`."""
    text = "/".join(str(part) for part in (seed, *place))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
