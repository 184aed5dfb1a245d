# NCCL: its configuration for each axis, and the module on doubles of libnccl and libcudart.
nccl_tests = tests/unit/comm_config_test
TESTS += $(nccl_tests)
check_PROGRAMS += $(nccl_tests)
tests_unit_comm_config_test_LDADD = libdtcore.la
EXTRA_DIST += tests/fake/nccl/math.c

if DT_HAVE_NCCL
# The module as it is, but that its kernels are the host's.
check_LTLIBRARIES += tests/fake/nccl/libdtrain_nccl.la
tests_fake_nccl_libdtrain_nccl_la_SOURCES = $(dt_nccl_sources) tests/fake/nccl/math.c \
	runtime/math.c runtime/math.h runtime/math_elements.c runtime/math_elements.h runtime/math_value.h \
	runtime/math_rows.c runtime/math_rows.h runtime/math_vocabulary.c runtime/math_vocabulary.h
tests_fake_nccl_libdtrain_nccl_la_CFLAGS = $(dt_nccl_cflags)
tests_fake_nccl_libdtrain_nccl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version \
	-rpath $(abs_top_builddir)/tests/fake/nccl -export-symbols-regex '^dt_backend_nccl$$'
tests_fake_nccl_libdtrain_nccl_la_LIBADD = libdtcore.la $(DT_CUDA_LIBS) -lpthread -ldl -lm

nccl_double_tests = tests/unit/nccl_world_test tests/unit/nccl_fault_test
TESTS += $(nccl_double_tests)
check_PROGRAMS += $(nccl_double_tests)
# Also where a test calls no double itself: the module must not find the real ones.
nccl_double_ldflags = $(fake_nccl_ldflags) -Wl,--no-as-needed
nccl_double = tests/unit/nccl_double.c tests/unit/nccl_double.h $(fork_world)
tests_unit_nccl_world_test_SOURCES = tests/unit/nccl_world_test.c $(nccl_double)
tests_unit_nccl_world_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_nccl_world_test_LDFLAGS = $(nccl_double_ldflags)
tests_unit_nccl_world_test_LDADD = libdtworld.la $(fake_nccl_libs)
tests_unit_nccl_fault_test_SOURCES = tests/unit/nccl_fault_test.c $(nccl_double)
tests_unit_nccl_fault_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_nccl_fault_test_LDFLAGS = $(nccl_double_ldflags)
tests_unit_nccl_fault_test_LDADD = libdtworld.la $(fake_nccl_libs)
endif
