# NCCL: its configuration for each axis, and the module on doubles of libnccl and libcudart.
nccl_tests = tests/unit/comm_config_test
TESTS += $(nccl_tests)
check_PROGRAMS += $(nccl_tests)
tests_unit_comm_config_test_LDADD = libdtcore.la
