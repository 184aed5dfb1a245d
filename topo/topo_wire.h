/*
 * topo_wire.h - a topology, text, or an error as bytes in a pipe, from the child
 * of topo_child.h to its parent: the same program, but the reader trusts nothing.
 */
#ifndef DT_TOPO_TOPO_WIRE_H
#define DT_TOPO_TOPO_WIRE_H

#include "topo.h"

#define DT_TOPO_WIRE_MAX (64u * 1024u * 1024u) /* bytes of one message */
#define DT_TOPO_CORES_MAX 65536u

struct dt_topo_wire {
    char *bytes;
    size_t size, used; /* used: read so far */
};

void dt_topo_wire_destroy(struct dt_topo_wire *wire);

/* The result of the child: a topology; or text; or what went wrong. */
int dt_topo_wire_put_topo(struct dt_topo_wire *wire, const struct dt_topo *topo);
int dt_topo_wire_put_text(struct dt_topo_wire *wire, const char *text, size_t size);
int dt_topo_wire_put_error(struct dt_topo_wire *wire, const struct dtrain_error *error);

/* What the child said; its error becomes this one's. *text malloc'd, with a NUL behind it. */
int dt_topo_wire_get_topo(struct dt_topo **topo, struct dt_topo_wire *wire, const char *source,
                          struct dtrain_error *err);
int dt_topo_wire_get_text(char **text, size_t *size, struct dt_topo_wire *wire, const char *source,
                          struct dtrain_error *err);

#endif
