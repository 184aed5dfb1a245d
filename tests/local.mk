# tests
include tests/host.mk
