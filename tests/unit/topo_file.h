/* topo_file.h - the shared topologies, where there are any, for tests. */
#ifndef DT_TESTS_TOPO_FILE_H
#define DT_TESTS_TOPO_FILE_H

#include "topo/topo_hwloc.h"

/* "$DT_SRCDIR/../shared/topologies/NAME" as text with a NUL, malloc'd; NULL: it is not there. */
char *topo_file_read(const char *name, size_t *size);

/* The topology of a shared file. */
int topo_file_load(struct dt_topo **topo, const char *name, struct dtrain_error *err);

#endif
