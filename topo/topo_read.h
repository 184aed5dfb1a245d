/* topo_read.h - what the child of topo_child.h does with hwloc. */
#ifndef DT_TOPO_TOPO_READ_H
#define DT_TOPO_TOPO_READ_H

#include "topo_wire.h"

enum dt_topo_read_kind { DT_TOPO_READ_XML, DT_TOPO_READ_SYNTHETIC, DT_TOPO_READ_MACHINE };

struct dt_topo_read {
    enum dt_topo_read_kind kind;
    const char *text; /* the XML or the description; NULL for the machine */
    size_t size;
    const char *source;
};

/* Works of dt_topo_child_run(); arg is a struct dt_topo_read. Give a topology, and hwloc's XML. */
void dt_topo_read_work(struct dt_topo_wire *wire, void *arg);
void dt_topo_read_export_work(struct dt_topo_wire *wire, void *arg);

/* For hwloc: so that no vendor's runtime is even opened; or, to save all once, with their libraries. */
extern char *dt_topo_read_environment[];
extern char *dt_topo_read_vendor_environment[];

#endif
