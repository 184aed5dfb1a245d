# Programs on the public headers only.
include examples/hello.mk
include examples/nccl.mk
include examples/train.mk
