# The textbook's cases, each a small program that checks itself.
lesson_programs = examples/column_parallel examples/data_parallel examples/local_devices examples/pipeline
pkglibexec_PROGRAMS += $(lesson_programs)
lesson_sources = examples/lesson.c examples/lesson.h examples/matrix.c examples/matrix.h
examples_column_parallel_SOURCES = examples/column_parallel.c $(lesson_sources)
examples_column_parallel_LDADD = libdtrain.la -lm
examples_data_parallel_SOURCES = examples/data_parallel.c $(lesson_sources)
examples_data_parallel_LDADD = libdtrain.la -lm
examples_local_devices_SOURCES = examples/local_devices.c $(lesson_sources)
examples_local_devices_LDADD = libdtrain.la -lm
examples_pipeline_SOURCES = examples/pipeline.c $(lesson_sources)
examples_pipeline_LDADD = libdtrain.la -lm
