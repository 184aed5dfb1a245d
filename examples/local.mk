# examples
include examples/hello.mk
