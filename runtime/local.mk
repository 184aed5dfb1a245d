# runtime
include runtime/nccl.mk
