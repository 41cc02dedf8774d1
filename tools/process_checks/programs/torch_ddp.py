"""Steps of PyTorch's DistributedDataParallel by gloo.

Usage: torch_ddp.py STEPS together|apart RANK SIZE PORT
"""

import sys

import net
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(steps: int, together: bool, rank: int, size: int, port: int) -> None:
    """Train, with the gradients of all processes or those of this one."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    layers: list[torch.nn.Module] = []
    for weight, bias in net.weights():
        layer = torch.nn.Linear(*weight.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weight.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias))
        layers += [layer, torch.nn.ReLU()]
    model: torch.nn.Module = torch.nn.Sequential(*layers[:-1])
    if together:
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    opt = torch.optim.Adam(model.parameters(), net.RATE)
    rows, kinds = (torch.from_numpy(each) for each in net.batch(rank))
    kinds = kinds.long()

    def step() -> float:
        opt.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(rows), kinds)
        loss.backward()
        opt.step()
        return loss.item()

    net.told(step, steps, dist.barrier)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "together", *map(int, sys.argv[3:6]))
