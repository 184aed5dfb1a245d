include tests/layout.mk
include tests/core.mk
