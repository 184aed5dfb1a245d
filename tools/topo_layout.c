#include "tools/topo_layout.h"

#include <stdlib.h>
#include <string.h>

#define TOP 56          /* of the sockets: the title is above */
#define SOCKET_HEAD 26  /* height of its label */
#define SOCKET_PAD 12
#define SOCKET_GAP 22
#define PLACE_HEAD 42   /* height of its two lines of text */
#define PLACE_PAD 12
#define PLACE_GAP 12
#define PLACE_EMPTY 166 /* width of a NUMA node without devices */
#define COLUMN_GAP 18   /* with the wire of the device at its right */
#define WIRE 14         /* length of one above a NIC */
#define NIC_HEIGHT 36
#define BAR_HEIGHT 18
#define BAR_GAP 12
#define EMPTY_PLACES_MAX 16u /* NUMA nodes without devices that are drawn */

/* ---- Places ---- */

static int compare_places(const void *a, const void *b)
{
    const struct dt_topo_place *x = a, *y = b;
    /* What is not known comes last. */
    unsigned sx = (unsigned)x->socket, sy = (unsigned)y->socket, nx = (unsigned)x->numa,
             ny = (unsigned)y->numa;

    if (sx != sy)
        return sx < sy ? -1 : 1;
    return (nx > ny) - (nx < ny);
}

static uint32_t find_place(const struct dt_topo_layout *layout, const struct dt_topo *topo, int os_index,
                           int socket)
{
    for (uint32_t i = 0; i < layout->place_count; i++) {
        const struct dt_topo_place *place = &layout->places[i];

        if (place->numa >= 0 && topo->numas[place->numa].os_index == os_index)
            return i;
    }
    for (uint32_t i = 0; i < layout->place_count; i++)
        if (layout->places[i].numa < 0 && layout->places[i].socket == socket)
            return i;
    return layout->place_count;
}

static void add_place_of_device(struct dt_topo_layout *layout, const struct dt_topo *topo, int os_index,
                                int socket)
{
    if (find_place(layout, topo, os_index, socket) == layout->place_count)
        layout->places[layout->place_count++] = (struct dt_topo_place){.numa = -1, .socket = socket};
}

static bool has_devices(const struct dt_topo *topo, int os_index)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (topo->gpus[i].numa == os_index)
            return true;
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].numa == os_index)
            return true;
    return false;
}

static void add_numas(struct dt_topo_layout *layout, const struct dt_topo *topo)
{
    uint32_t empty = 0;

    for (uint32_t i = 0; i < topo->numa_count; i++) {
        const struct dt_topo_numa *numa = &topo->numas[i];

        if (numa->is_gpu_memory)
            continue;
        if (!has_devices(topo, numa->os_index) && empty++ >= EMPTY_PLACES_MAX)
            continue;
        layout->places[layout->place_count++] =
            (struct dt_topo_place){.numa = (int)i, .socket = dt_topo_numa_socket(topo, i)};
    }
}

static void init_places(struct dt_topo_layout *layout, const struct dt_topo *topo)
{
    add_numas(layout, topo);
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        add_place_of_device(layout, topo, topo->gpus[i].numa, topo->gpus[i].socket);
    for (uint32_t i = 0; i < topo->nic_count; i++)
        add_place_of_device(layout, topo, topo->nics[i].numa, topo->nics[i].socket);
    qsort(layout->places, layout->place_count, sizeof(layout->places[0]), compare_places);
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        layout->gpu_place[i] = find_place(layout, topo, topo->gpus[i].numa, topo->gpus[i].socket);
    for (uint32_t i = 0; i < topo->nic_count; i++)
        layout->nic_place[i] = find_place(layout, topo, topo->nics[i].numa, topo->nics[i].socket);
}

/* ---- Hubs ---- */

static int new_hub(struct dt_topo_layout *layout, uint32_t place)
{
    layout->hubs[layout->hub_count] = (struct dt_topo_hub){.place = place};
    return (int)layout->hub_count++;
}

/* Below one port of the host, however many switches there are on the way. */
static bool is_near(struct dt_path_info path)
{
    return path.path == DT_PATH_SWITCH || path.path == DT_PATH_SWITCHES;
}

/* The hub of an earlier GPU at the same switches, seen directly or through a NIC; -1: none. */
static int hub_of_neighbour(const struct dt_topo_layout *layout, const struct dt_topo *topo, uint32_t gpu)
{
    for (uint32_t i = 0; i < gpu; i++) {
        if (layout->gpu_place[i] != layout->gpu_place[gpu])
            continue;
        if (is_near(topo->gpu_path[i][gpu]))
            return layout->gpu_hub[i];
        for (uint32_t nic = 0; nic < topo->nic_count; nic++)
            if (is_near(topo->nic_path[i][nic]) && is_near(topo->nic_path[gpu][nic]))
                return layout->gpu_hub[i];
    }
    return -1;
}

static void init_hubs(struct dt_topo_layout *layout, const struct dt_topo *topo)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        int hub = hub_of_neighbour(layout, topo, i);

        layout->gpu_hub[i] = hub >= 0 ? hub : new_hub(layout, layout->gpu_place[i]);
        if (hub >= 0)
            layout->hubs[hub].is_switch = true;
    }
    for (uint32_t nic = 0; nic < topo->nic_count; nic++) {
        layout->nic_hub[nic] = -1;
        for (uint32_t i = 0; i < topo->gpu_count && layout->nic_hub[nic] < 0; i++)
            if (is_near(topo->nic_path[i][nic]) && layout->gpu_place[i] == layout->nic_place[nic])
                layout->nic_hub[nic] = layout->gpu_hub[i];
        if (layout->nic_hub[nic] >= 0)
            layout->hubs[layout->nic_hub[nic]].is_switch = true;
    }
}

/* ---- Rows ---- */

struct rows {
    int nic_y, bar_y, gpu_y, end_y; /* end_y: of the places */
};

static struct rows rows_of(const struct dt_topo *topo, bool has_tasks)
{
    struct rows rows = {.nic_y = TOP + SOCKET_HEAD + PLACE_HEAD + WIRE};

    rows.bar_y = rows.nic_y + (topo->nic_count > 0 ? NIC_HEIGHT + BAR_GAP : 0);
    rows.gpu_y = rows.bar_y + BAR_HEIGHT + BAR_GAP;
    rows.end_y = topo->gpu_count == 0 ? rows.bar_y : rows.gpu_y + DT_TOPO_GPU_HEIGHT + PLACE_PAD;
    if (has_tasks && topo->gpu_count > 0)
        rows.end_y += DT_TOPO_TASK_HEIGHT;
    return rows;
}

static int column_x(int first_x, uint32_t column)
{
    return first_x + COLUMN_GAP + (int)column * (DT_TOPO_UNIT + COLUMN_GAP);
}

/* Puts a hub's devices from this column on. Returns how many columns it takes. */
static uint32_t put_hub(struct dt_topo_layout *layout, const struct dt_topo *topo, int hub, int x,
                        uint32_t column, const struct rows *rows, bool is_taken[DT_TOPO_DEVICES_MAX])
{
    uint32_t gpus = 0, nics = 0, columns;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (layout->gpu_hub[i] == hub)
            layout->gpus[i] =
                (struct dt_box){column_x(x, column + gpus++), rows->gpu_y, DT_TOPO_UNIT, DT_TOPO_GPU_HEIGHT};
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        if (layout->nic_hub[i] != hub)
            continue;
        is_taken[column + nics] = true;
        layout->nics[i] =
            (struct dt_box){column_x(x, column + nics++), rows->nic_y, DT_TOPO_UNIT, NIC_HEIGHT};
    }
    columns = gpus > nics ? gpus : nics;
    layout->hubs[hub].bar =
        (struct dt_box){column_x(x, column), rows->bar_y,
                        (int)columns * (DT_TOPO_UNIT + COLUMN_GAP) - COLUMN_GAP, BAR_HEIGHT};
    return columns;
}

/* The column of the GPU that is nearer to the NIC than all others of its place; else the first. */
static uint32_t wanted_column(const struct dt_topo_layout *layout, const struct dt_topo *topo, uint32_t nic,
                              int x)
{
    enum dt_path best = DT_PATH_UNKNOWN;
    uint32_t column = 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        enum dt_path path = topo->nic_path[i][nic].path;

        if (layout->gpu_place[i] != layout->nic_place[nic] || path > best)
            continue;
        column =
            path < best ? (uint32_t)(layout->gpus[i].x - column_x(x, 0)) / (DT_TOPO_UNIT + COLUMN_GAP) : 0;
        best = path;
    }
    return column;
}

/* NICs without a switch stand in columns that have none yet. Returns how many columns there are then. */
static uint32_t put_nics(struct dt_topo_layout *layout, const struct dt_topo *topo, uint32_t place, int x,
                         uint32_t columns, const struct rows *rows, bool is_taken[DT_TOPO_DEVICES_MAX])
{
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        uint32_t column;

        if (layout->nic_place[i] != place || layout->nic_hub[i] >= 0)
            continue;
        column = wanted_column(layout, topo, i, x);
        if (is_taken[column])
            for (column = 0; is_taken[column];)
                column++;
        is_taken[column] = true;
        columns = column + 1 > columns ? column + 1 : columns;
        layout->nics[i] = (struct dt_box){column_x(x, column), rows->nic_y, DT_TOPO_UNIT, NIC_HEIGHT};
    }
    return columns;
}

static int put_place(struct dt_topo_layout *layout, const struct dt_topo *topo, uint32_t place, int x,
                     const struct rows *rows)
{
    bool is_taken[DT_TOPO_DEVICES_MAX] = {false};
    uint32_t columns = 0;
    int width;

    for (uint32_t hub = 0; hub < layout->hub_count; hub++)
        if (layout->hubs[hub].place == place)
            columns += put_hub(layout, topo, (int)hub, x, columns, rows, is_taken);
    columns = put_nics(layout, topo, place, x, columns, rows, is_taken);
    width = columns > 0 ? column_x(0, columns) - COLUMN_GAP + PLACE_PAD : PLACE_EMPTY;
    layout->places[place].box =
        (struct dt_box){x, TOP + SOCKET_HEAD, width, rows->end_y - TOP - SOCKET_HEAD};
    return width;
}

static void put_places(struct dt_topo_layout *layout, const struct dt_topo *topo, const struct rows *rows)
{
    struct dt_topo_socket *socket = NULL;
    int x = DT_TOPO_MARGIN;

    for (uint32_t i = 0; i < layout->place_count; i++) {
        if (socket == NULL || socket->socket != layout->places[i].socket) {
            x += socket != NULL ? SOCKET_GAP : 0;
            socket = &layout->sockets[layout->socket_count++];
            *socket = (struct dt_topo_socket){
                layout->places[i].socket, {x, TOP, SOCKET_PAD, rows->end_y - TOP + SOCKET_PAD}};
            x += SOCKET_PAD;
        } else {
            x += PLACE_GAP;
        }
        x += put_place(layout, topo, i, x, rows);
        socket->box.w = x + SOCKET_PAD - socket->box.x;
        if (i + 1 == layout->place_count || layout->places[i + 1].socket != socket->socket)
            x += SOCKET_PAD;
    }
    layout->width = x + DT_TOPO_MARGIN;
    layout->bottom = rows->end_y + SOCKET_PAD;
}

struct dt_topo_layout *dt_topo_layout_create(const struct dt_topo *topo, bool has_tasks,
                                             struct dtrain_error *err)
{
    struct dt_topo_layout *layout = calloc(1, sizeof(*layout));
    const struct rows rows = rows_of(topo, has_tasks);

    if (layout == NULL) {
        dt_error_memory(err, sizeof(*layout), "a drawing");
        return NULL;
    }
    init_places(layout, topo);
    init_hubs(layout, topo);
    put_places(layout, topo, &rows);
    return layout;
}

void dt_topo_layout_destroy(struct dt_topo_layout *layout)
{
    free(layout);
}
