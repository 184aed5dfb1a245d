# runtime
include runtime/host.mk
