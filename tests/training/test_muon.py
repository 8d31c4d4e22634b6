"""Muon: orthogonal updates for matrices, AdamW for the rest, exact after a checkpoint."""

import copy

import torch

from pipeline.training.muon import Muon, orthogonalise


def model() -> torch.nn.Sequential:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))


def train(network: torch.nn.Module, optimizer: Muon, steps: range) -> float:
    loss = torch.tensor(0.0)
    for step in steps:
        inputs = torch.randn(32, 8, generator=torch.Generator().manual_seed(step))
        loss = (network(inputs) - inputs[:, :4]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def test_updates_are_nearly_orthogonal() -> None:
    for shape in ((3, 6, 20), (3, 20, 6)):
        matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
        values = torch.linalg.svdvals(orthogonalise(matrices))
        assert values.min() > 0.5
        assert values.max() < 1.3


def test_vectors_and_embeddings_are_not_orthogonalised() -> None:
    network = torch.nn.ModuleDict({"embed_tokens": torch.nn.Embedding(5, 4), "proj": torch.nn.Linear(4, 4)})
    kinds = {group["kind"]: len(group["params"]) for group in Muon(network.named_parameters(), 0.02, 1e-3).param_groups}
    assert kinds == {"muon": 1, "adam": 2}


def test_it_learns_and_ends_equal_after_a_checkpoint() -> None:
    unbroken = model()
    optimizer = Muon(unbroken.named_parameters(), 0.02, 1e-2)
    first = train(unbroken, optimizer, range(1))
    train(unbroken, optimizer, range(1, 20))
    saved = copy.deepcopy((unbroken.state_dict(), optimizer.state_dict()))
    last = train(unbroken, optimizer, range(20, 60))
    assert last < 0.3 * first

    resumed = model()
    resumed.load_state_dict(saved[0])
    again = Muon(resumed.named_parameters(), 0.02, 1e-2)
    again.load_state_dict(saved[1])
    assert train(resumed, again, range(20, 60)) == last
    assert all(torch.equal(a, b) for a, b in zip(unbroken.parameters(), resumed.parameters(), strict=True))
