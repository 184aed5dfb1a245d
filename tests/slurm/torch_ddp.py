"""A script written for torchrun, without a word of dtrain: DistributedDataParallel over all ranks."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weight = model.module.weight.detach().clone()
first = weight.clone()
dist.broadcast(first, 0)
assert torch.equal(weight, first), f"rank {dist.get_rank()} has other weights"
if dist.get_rank() == 0:
    print(f"{dist.get_world_size()} ranks hold the same weights")
dist.destroy_process_group()
