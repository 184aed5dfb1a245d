/*
 * topo_layout.h - where the drawing of a node has its sockets, NUMA nodes and
 * devices. Sockets side by side, in each its NUMA nodes, in each NICs above
 * GPUs; what hangs on one PCIe switch shares a hub between the two rows.
 */
#ifndef DT_TOOLS_TOPO_LAYOUT_H
#define DT_TOOLS_TOPO_LAYOUT_H

#include "tools/svg.h"
#include "tools/topo_view.h"

#define DT_TOPO_DEVICES_MAX (DT_TOPO_GPUS_MAX + DT_TOPO_NICS_MAX)
#define DT_TOPO_PLACES_MAX (DT_TOPO_NUMAS_MAX + DT_TOPO_DEVICES_MAX)

#define DT_TOPO_MARGIN 24   /* pixels around everything */
#define DT_TOPO_UNIT 126    /* width of a device */
#define DT_TOPO_GPU_HEIGHT 58
#define DT_TOPO_TASK_HEIGHT 68
#define DT_TOPO_LINE 14     /* between two lines of text */

/* A NUMA node, or where devices are whose NUMA node is not known. */
struct dt_topo_place {
    int numa;   /* index into topo->numas; -1: not known */
    int socket; /* os index; -1: not known */
    struct dt_box box;
};

struct dt_topo_socket {
    int socket;
    struct dt_box box;
};

/* What joins GPUs to the host: a PCIe switch that they share with others, or a path of their own. */
struct dt_topo_hub {
    bool is_switch;
    uint32_t place;
    struct dt_box bar;
};

struct dt_topo_layout {
    int width, bottom; /* of all, and below the sockets */
    uint32_t place_count, socket_count, hub_count;
    struct dt_topo_place places[DT_TOPO_PLACES_MAX]; /* by socket, then os index */
    struct dt_topo_socket sockets[DT_TOPO_PLACES_MAX];
    struct dt_topo_hub hubs[DT_TOPO_DEVICES_MAX];
    struct dt_box gpus[DT_TOPO_GPUS_MAX]; /* without the task below it */
    struct dt_box nics[DT_TOPO_NICS_MAX];
    int gpu_hub[DT_TOPO_GPUS_MAX];
    int nic_hub[DT_TOPO_NICS_MAX]; /* -1: linked to the host by itself */
    uint32_t gpu_place[DT_TOPO_GPUS_MAX], nic_place[DT_TOPO_NICS_MAX];
};

/* has_tasks: with room for a task below each GPU. malloc'd; NULL with the error set. */
struct dt_topo_layout *dt_topo_layout_create(const struct dt_topo *topo, bool has_tasks,
                                             struct dtrain_error *err);
void dt_topo_layout_destroy(struct dt_topo_layout *layout);

#endif
