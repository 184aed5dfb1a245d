include tests/tools.mk
include tests/layout.mk
include tests/core.mk
include tests/import.mk
include tests/host.mk
include tests/tp.mk
include tests/boot.mk
include tests/dp.mk
include tests/ps.mk
include tests/ladder.mk
include tests/plugin.mk
include tests/binder.mk
include tests/topo.mk
include tests/train.mk
include tests/train_experts.mk
include tests/lessons.mk
include tests/bind.mk
include tests/switches.mk
include tests/topo_tool.mk
include tests/python.mk
include tests/suggest.mk
include tests/pp.mk
include tests/fake/nccl.mk
include tests/nccl.mk
include tests/train_nccl.mk
include tests/gpu.mk
include tests/reports.mk
include tests/cuda_emulated.mk

TESTS += tests/cli/arrows_test.sh
EXTRA_DIST += tests/cli/arrows_test.sh
EXTRA_DIST += tests/tap.sh tests/slurm/lib.sh tests/slurm/run.sh tests/slurm/stage.sh tests/slurm/extern_test.sh
