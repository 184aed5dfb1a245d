# dtrain suggest: the cost model, by formulas and properties, and the command.
suggest_tests = tests/unit/suggest_machine_test tests/unit/suggest_memory_test tests/unit/suggest_model_test \
	tests/unit/suggest_search_test tests/unit/suggest_time_test
TESTS += $(suggest_tests) tests/cli/suggest_test.sh
check_PROGRAMS += $(suggest_tests)
EXTRA_DIST += tests/cli/suggest_test.sh

suggest_cflags = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS)
suggest_ldadd = libdttopo.la libdtcore.la $(DT_HWLOC_LIBS)
suggest_common = tests/unit/suggest_case.h tools/suggest_layout.c tools/suggest_model.c
tests_unit_suggest_machine_test_SOURCES = tests/unit/suggest_machine_test.c \
	tools/suggest_gpu.c tools/suggest_machine.c tools/suggest_model.c
tests_unit_suggest_machine_test_CFLAGS = $(suggest_cflags)
tests_unit_suggest_machine_test_LDADD = libdtimport.la $(suggest_ldadd)
tests_unit_suggest_memory_test_SOURCES = tests/unit/suggest_memory_test.c $(suggest_common) \
	tools/suggest_memory.c
tests_unit_suggest_memory_test_CFLAGS = $(suggest_cflags)
tests_unit_suggest_memory_test_LDADD = $(suggest_ldadd)
tests_unit_suggest_model_test_SOURCES = tests/unit/suggest_model_test.c $(suggest_common)
tests_unit_suggest_model_test_CFLAGS = $(suggest_cflags)
tests_unit_suggest_model_test_LDADD = $(suggest_ldadd)
tests_unit_suggest_search_test_SOURCES = tests/unit/suggest_search_test.c $(suggest_common) \
	tools/suggest_limits.c tools/suggest_memory.c tools/suggest_search.c tools/suggest_time.c
tests_unit_suggest_search_test_CFLAGS = $(suggest_cflags)
tests_unit_suggest_search_test_LDADD = $(suggest_ldadd)
tests_unit_suggest_time_test_SOURCES = tests/unit/suggest_time_test.c $(suggest_common) \
	tools/suggest_memory.c tools/suggest_time.c
tests_unit_suggest_time_test_CFLAGS = $(suggest_cflags)
tests_unit_suggest_time_test_LDADD = $(suggest_ldadd)
