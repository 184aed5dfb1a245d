# Tensor, context and expert parallel.
tp_tests = \
	tests/unit/cp_layout_test \
	tests/unit/cp_ring_test \
	tests/unit/ep_test \
	tests/unit/math_rows_test \
	tests/unit/tp_linear_test \
	tests/unit/tp_region_test \
	tests/unit/tp_shard_test \
	tests/unit/tp_vocabulary_test

check_PROGRAMS += $(tp_tests)
TESTS += $(tp_tests)

tests_unit_cp_layout_test_SOURCES = tests/unit/cp_layout_test.c tests/unit/tap.h
tests_unit_cp_layout_test_LDADD = $(host_test_ldadd)
tests_unit_cp_ring_test_SOURCES = tests/unit/cp_ring_test.c tests/unit/noise.h $(host_double_sources)
tests_unit_cp_ring_test_LDADD = $(host_test_ldadd) -lm
tests_unit_ep_test_SOURCES = tests/unit/ep_test.c tests/unit/noise.h $(host_double_sources)
tests_unit_ep_test_LDADD = $(host_test_ldadd) -lm
tests_unit_math_rows_test_SOURCES = tests/unit/math_rows_test.c tests/unit/tap.h
tests_unit_math_rows_test_LDADD = $(host_test_ldadd) -lm
tests_unit_tp_linear_test_SOURCES = tests/unit/tp_linear_test.c tests/unit/noise.h $(host_double_sources)
tests_unit_tp_linear_test_LDADD = $(host_test_ldadd) -lm
tests_unit_tp_region_test_SOURCES = tests/unit/tp_region_test.c $(host_double_sources)
tests_unit_tp_region_test_LDADD = $(host_test_ldadd)
tests_unit_tp_shard_test_SOURCES = tests/unit/tp_shard_test.c tests/unit/tap.h
tests_unit_tp_shard_test_LDADD = $(host_test_ldadd)
tests_unit_tp_vocabulary_test_SOURCES = tests/unit/tp_vocabulary_test.c tests/unit/noise.h $(host_double_sources)
tests_unit_tp_vocabulary_test_LDADD = $(host_test_ldadd) -lm
