DT_IMPORT_TESTS = tests/unit/import_file_test tests/unit/import_machine_test tests/unit/import_shared_test \
	tests/unit/import_text_test
if DT_HAVE_EXPAT
DT_IMPORT_TESTS += tests/unit/import_nccl_test
endif
TESTS += $(DT_IMPORT_TESTS)
check_PROGRAMS += $(DT_IMPORT_TESTS)
import_libraries = libdtimport.la libdttopo.la libdtcore.la
import_sources = tests/unit/import_golden.h tests/unit/topo_print.c tests/unit/topo_print.h
tests_unit_import_file_test_LDADD = $(import_libraries)
tests_unit_import_machine_test_SOURCES = tests/unit/import_machine_test.c tests/unit/shared_file.c \
	tests/unit/shared_file.h $(import_sources)
tests_unit_import_machine_test_LDADD = $(import_libraries)
tests_unit_import_nccl_test_SOURCES = tests/unit/import_nccl_test.c $(import_sources)
tests_unit_import_nccl_test_LDADD = $(import_libraries)
tests_unit_import_shared_test_SOURCES = tests/unit/import_shared_test.c tests/unit/shared_file.c \
	tests/unit/shared_file.h $(import_sources)
tests_unit_import_shared_test_LDADD = $(import_libraries)
tests_unit_import_text_test_SOURCES = tests/unit/import_text_test.c $(import_sources)
tests_unit_import_text_test_LDADD = $(import_libraries)

if DT_LIBFUZZER
noinst_PROGRAMS += tests/fuzz/fuzz_import
else
TESTS += tests/fuzz/fuzz_import
check_PROGRAMS += tests/fuzz/fuzz_import
endif
tests_fuzz_fuzz_import_SOURCES = tests/fuzz/fuzz_import.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_import_LDADD = $(import_libraries)
tests_fuzz_fuzz_import_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
