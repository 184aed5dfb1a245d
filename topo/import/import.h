/*
 * import.h - topologies from other tools' texts, for the dtrain command only.
 * One table: each source is recognised by its content, or chosen by name.
 */
#ifndef DT_TOPO_IMPORT_IMPORT_H
#define DT_TOPO_IMPORT_IMPORT_H

#include "topo/topo.h"

struct dt_import_source {
    const char *name; /* "hwloc", "nccl", "nvidia-smi", "rocm-smi" */
    const char *help;
    bool (*recognises)(const char *text, size_t size);
    int (*read)(struct dt_topo **topo, const char *text, size_t size, const char *source,
                struct dtrain_error *err);
};

const struct dt_import_source *dt_import_sources(size_t *count);

/* name NULL: recognised by content; what none recognises is refused, naming what is understood. */
int dt_import_text(struct dt_topo **topo, const char *name, const char *text, size_t size,
                   const char *source, struct dtrain_error *err);

/* A regular file (no FIFO, device or socket) of at most DT_TOPO_XML_MAX bytes; "-" is stdin. */
int dt_import_file(struct dt_topo **topo, const char *name, const char *path, struct dtrain_error *err);

/* Machines written from published facts: "dgx-a100", "mi250x", "p4d", "gh200", "pcie8", ... */
struct dt_import_machine {
    const char *name, *help;
};
const struct dt_import_machine *dt_import_machines(size_t *count);
int dt_import_machine(struct dt_topo **topo, const char *name, struct dtrain_error *err);

#endif
