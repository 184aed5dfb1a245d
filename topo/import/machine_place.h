/* machine_place.h - where a device of machine_facts.h is, and the PCI path between two of them. */
#ifndef DT_TOPO_IMPORT_MACHINE_PLACE_H
#define DT_TOPO_IMPORT_MACHINE_PLACE_H

#include "topo/topo.h"

#define DT_MACHINE_PLACE_MAX 24

struct dt_machine_place {
    char text[DT_MACHINE_PLACE_MAX]; /* "bridge/switch"; "" when nothing is said */
};

/* text NULL: nothing is said. */
int dt_machine_place_read(struct dt_machine_place *place, const char *text, struct dtrain_error *err);

struct dt_machine_spot {
    const struct dt_machine_place *place;
    int numa, socket;
};

enum dt_path dt_machine_place_path(struct dt_machine_spot a, struct dt_machine_spot b);

#endif
