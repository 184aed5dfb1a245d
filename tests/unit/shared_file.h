/* shared_file.h - files beside the source tree that tests read when they are there. */
#ifndef DT_TESTS_SHARED_FILE_H
#define DT_TESTS_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* $DT_SRCDIR/../shared/NAME; false when there is no such file. */
bool shared_file_path(char *path, size_t size, const char *name);

#endif
