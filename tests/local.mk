include tests/layout.mk
