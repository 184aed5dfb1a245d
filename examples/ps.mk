pkglibexec_PROGRAMS += examples/ps
examples_ps_SOURCES = examples/ps.c
examples_ps_LDADD = libdtrain.la -lm
