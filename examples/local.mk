# Programs on the public headers only.
include examples/hello.mk
include examples/lessons.mk
include examples/nccl.mk
include examples/ps.mk
include examples/train.mk
