# Doubles of libnccl and libcudart, and what shows that they keep and enforce the contract. Under their own
# sonames, so that programs linked against the real libraries run on them with LD_LIBRARY_PATH.
fake_nccl_headers = \
	tests/fake/nccl/fake.h tests/fake/nccl/fake_comm.h tests/fake/nccl/fake_cuda.h tests/fake/nccl/fake_group.h \
	tests/fake/nccl/fake_id.h tests/fake/nccl/fake_meeting.h tests/fake/nccl/fake_mesh.h \
	tests/fake/nccl/fake_nccl.h tests/fake/nccl/fake_net.h tests/fake/nccl/fake_op.h
fake_cudart_sources = \
	tests/fake/nccl/fake_copy.c tests/fake/nccl/fake_device.c tests/fake/nccl/fake_event.c \
	tests/fake/nccl/fake_fault.c tests/fake/nccl/fake_kernel.c tests/fake/nccl/fake_memory.c \
	tests/fake/nccl/fake_report.c tests/fake/nccl/fake_stream.c
fake_nccl_sources = \
	tests/fake/nccl/fake_coll.c tests/fake/nccl/fake_comm.c tests/fake/nccl/fake_config.c \
	tests/fake/nccl/fake_end.c tests/fake/nccl/fake_error.c tests/fake/nccl/fake_group.c \
	tests/fake/nccl/fake_id.c tests/fake/nccl/fake_init.c tests/fake/nccl/fake_meeting.c \
	tests/fake/nccl/fake_mesh.c tests/fake/nccl/fake_net.c tests/fake/nccl/fake_op.c \
	tests/fake/nccl/fake_p2p.c tests/fake/nccl/fake_reduce.c tests/fake/nccl/fake_register.c \
	tests/fake/nccl/fake_split.c
fake_nccl_maps = tests/fake/nccl/cudart.map tests/fake/nccl/nccl.map
EXTRA_DIST += $(fake_nccl_headers) $(fake_cudart_sources) $(fake_nccl_sources) $(fake_nccl_maps)

if DT_HAVE_NCCL
fake_nccl_compile = $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
	$(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS) -fPIC -shared $(LDFLAGS)

tests/fake/nccl/libcudart.so.13: $(fake_cudart_sources) $(fake_nccl_headers) tests/fake/nccl/cudart.map
	$(AM_V_CCLD)$(MKDIR_P) tests/fake/nccl && cd $(srcdir) && $(fake_nccl_compile) \
	  -Wl,-soname,libcudart.so.13 -Wl,--version-script=tests/fake/nccl/cudart.map \
	  -o $(abs_top_builddir)/$@ $(fake_cudart_sources) -lpthread

tests/fake/nccl/libnccl.so.2: $(fake_nccl_sources) $(fake_nccl_headers) tests/fake/nccl/nccl.map \
		tests/fake/nccl/libcudart.so.13
	$(AM_V_CCLD)cd $(srcdir) && $(fake_nccl_compile) \
	  -Wl,-soname,libnccl.so.2 -Wl,--version-script=tests/fake/nccl/nccl.map \
	  -o $(abs_top_builddir)/$@ $(fake_nccl_sources) $(abs_top_builddir)/tests/fake/nccl/libcudart.so.13 \
	  -lpthread -lm

fake_nccl_tests = tests/unit/fake_nccl_op_test tests/unit/fake_nccl_rule_test tests/unit/fake_nccl_fault_test \
	tests/unit/fake_nccl_cuda_test tests/unit/fake_nccl_world_test
check_PROGRAMS += $(fake_nccl_tests)
TESTS += $(fake_nccl_tests)
CLEANFILES += tests/fake/nccl/libcudart.so.13 tests/fake/nccl/libnccl.so.2
fake_nccl_libs = tests/fake/nccl/libnccl.so.2 tests/fake/nccl/libcudart.so.13
fake_nccl_ldflags = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)/tests/fake/nccl
fake_nccl_cflags = $(AM_CFLAGS) $(DT_NCCL_CFLAGS) $(DT_CUDA_CFLAGS)
fake_nccl_rows = tests/unit/fake_nccl.c tests/unit/fake_nccl.h tests/unit/tap.h

tests_unit_fake_nccl_op_test_SOURCES = tests/unit/fake_nccl_op_test.c $(fake_nccl_rows)
tests_unit_fake_nccl_op_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_fake_nccl_op_test_LDFLAGS = $(fake_nccl_ldflags)
tests_unit_fake_nccl_op_test_LDADD = $(fake_nccl_libs) -lm
tests_unit_fake_nccl_rule_test_SOURCES = tests/unit/fake_nccl_rule_test.c $(fake_nccl_rows)
tests_unit_fake_nccl_rule_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_fake_nccl_rule_test_LDFLAGS = $(fake_nccl_ldflags)
tests_unit_fake_nccl_rule_test_LDADD = $(fake_nccl_libs)
tests_unit_fake_nccl_fault_test_SOURCES = tests/unit/fake_nccl_fault_test.c $(fake_nccl_rows)
tests_unit_fake_nccl_fault_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_fake_nccl_fault_test_LDFLAGS = $(fake_nccl_ldflags)
tests_unit_fake_nccl_fault_test_LDADD = $(fake_nccl_libs)
tests_unit_fake_nccl_cuda_test_SOURCES = tests/unit/fake_nccl_cuda_test.c $(fake_nccl_rows)
tests_unit_fake_nccl_cuda_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_fake_nccl_cuda_test_LDFLAGS = $(fake_nccl_ldflags)
tests_unit_fake_nccl_cuda_test_LDADD = $(fake_nccl_libs)
tests_unit_fake_nccl_world_test_SOURCES = tests/unit/fake_nccl_world_test.c $(fork_world)
tests_unit_fake_nccl_world_test_CFLAGS = $(fake_nccl_cflags)
tests_unit_fake_nccl_world_test_LDFLAGS = $(fake_nccl_ldflags)
tests_unit_fake_nccl_world_test_LDADD = libdtworld.la $(fake_nccl_libs)
endif
