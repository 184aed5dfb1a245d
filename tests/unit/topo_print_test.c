/* A node as text, JSON and drawing: on nodes built in memory, with names and shapes that could break them. */
#include <stdlib.h>

#include "bind_node.h"
#include "tap.h"
#include "tools/svg.h"
#include "tools/table.h"
#include "tools/topo_json.h"
#include "tools/topo_layout.h"
#include "tools/topo_svg.h"
#include "tools/topo_text.h"

#define SINK_MAX (1u << 20)

static char sink[SINK_MAX];
static size_t sink_used;

static int sink_write(void *context, const char *text, size_t n)
{
    (void)context;
    if (sink_used + n >= SINK_MAX)
        return -1;
    memcpy(sink + sink_used, text, n);
    sink_used += n;
    sink[sink_used] = '\0';
    return 0;
}

static struct dt_out *start(void)
{
    static struct dt_out out;

    sink_used = 0;
    sink[0] = '\0';
    dt_out_init(&out, sink_write, NULL);
    return &out;
}

static const char *printed(struct dt_out *out)
{
    return dt_out_flush(out, NULL) == 0 ? sink : "(the output failed)";
}

/* ---- Words ---- */

static void test_symbols(void)
{
    static const struct {
        struct dt_path_info path;
        const char *symbol;
    } rows[] = {
        {{DT_PATH_SELF, 0}, "-"},       {{DT_PATH_NVLINK, 4}, "NV4"},    {{DT_PATH_NVLINK, 0}, "NV"},
        {{DT_PATH_NVSWITCH, 12}, "NVS12"}, {{DT_PATH_XGMI, 2}, "XG2"},   {{DT_PATH_XELINK, 65535}, "XL65535"},
        {{DT_PATH_SWITCH, 3}, "PIX"},   {{DT_PATH_SWITCHES, 0}, "PXB"},  {{DT_PATH_BRIDGE, 0}, "PHB"},
        {{DT_PATH_NUMA, 0}, "NODE"},    {{DT_PATH_SOCKET, 0}, "SOCK"},   {{DT_PATH_SYSTEM, 0}, "SYS"},
        {{DT_PATH_UNKNOWN, 0}, "?"},
    };
    bool is_seen[DT_PATH_COUNT] = {false};
    char buf[DT_TOPO_SYMBOL_MAX];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tap_ok(strcmp(dt_topo_symbol(buf, rows[i].path), rows[i].symbol) == 0, "symbol %s", rows[i].symbol);
        is_seen[rows[i].path.path] = true;
    }
    for (unsigned path = 0; path < DT_PATH_COUNT; path++)
        tap_ok(is_seen[path], "the path '%s' has a symbol", dt_path_words[path]);
}

static void test_cpus(void)
{
    static const char *const rows[] = {"", "0", "0-7,64-71", "1,3,5", "4095"};
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    char buf[DT_TOPO_LIST_MAX];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_out *out = start();

        hwloc_bitmap_list_sscanf(cpus, rows[i]);
        dt_topo_print_cpus(out, cpus);
        tap_ok(strcmp(printed(out), rows[i]) == 0 && strcmp(dt_topo_cpus(buf, cpus), rows[i]) == 0,
               "CPUs '%s'", rows[i]);
    }
    hwloc_bitmap_zero(cpus);
    for (unsigned i = 0; i < 200; i += 2)
        hwloc_bitmap_set(cpus, i);
    tap_holds(dt_topo_cpus(buf, cpus), "...", "a long list of CPUs says that it was cut");
    hwloc_bitmap_free(cpus);
}

/* A node of 8 NUMA nodes on two sockets, of which devices name some. */
static void test_sockets(void)
{
    struct dt_topo *topo = node_create(8, 2);

    tap_ok(dt_topo_numa_socket(topo, 0) == -1, "no device names a socket: not known");
    node_add_gpu(topo, 1);
    node_add_gpu(topo, 7);
    topo->gpus[0].socket = 0;
    topo->gpus[1].socket = 1;
    tap_ok(dt_topo_numa_socket(topo, 1) == 0 && dt_topo_numa_socket(topo, 7) == 1, "what devices name");
    tap_ok(dt_topo_numa_socket(topo, 3) == 0 && dt_topo_numa_socket(topo, 4) == 1,
           "the others block by block");
    topo->gpus[0].numa = 5;
    tap_ok(dt_topo_numa_socket(topo, 3) == -1, "blocks that devices disprove: not known");
    dt_topo_destroy(topo);
}

static void test_nearest(void)
{
    struct dt_topo *topo = node_create(2, 2);
    uint32_t nics[DT_TOPO_NICS_MAX];
    char buf[DT_TOPO_LIST_MAX];

    node_add_gpu(topo, 0);
    tap_ok(dt_topo_nearest_nics(topo, 0, nics) == 0, "no NIC is near where there is none");
    for (uint32_t i = 0; i < 4; i++) {
        node_add_nic(topo, 0, i == 0 ? "storage" : i == 1 ? "a" : i == 2 ? "b" : "far");
        topo->nic_path[0][i].path = i == 3 ? DT_PATH_SYSTEM : DT_PATH_SWITCH;
        topo->nics[i].is_used = i > 0;
    }
    tap_ok(strcmp(dt_topo_nearest_names(buf, topo, 0), "a b") == 0,
           "all of the nearest, but not those of storage");
    for (uint32_t i = 0; i < 4; i++)
        topo->nic_path[0][i].path = DT_PATH_UNKNOWN;
    tap_ok(strcmp(dt_topo_nearest_names(buf, topo, 0), "") == 0, "none by paths that are not known");
    dt_topo_destroy(topo);
}

/* ---- Tables ---- */

static void test_table(void)
{
    static const char *const titles[] = {"a", "empty", "long title", "last", NULL};
    struct dt_table table;
    struct dt_out *out = start();

    dt_table_init(&table, titles);
    dt_table_add(&table, "one");
    dt_table_add_index(&table, -1);
    dt_table_add(&table, "x");
    dt_table_add(&table, "%s", "");
    dt_table_add(&table, "%070d", 1);
    dt_table_add(&table, "%s", "");
    dt_table_add(&table, "%s", "");
    dt_table_add(&table, "%070d", 2);
    tap_ok(dt_table_print(&table, out, NULL) == 0, "a table is printed");
    tap_ok(strstr(printed(out), "empty") == NULL, "without an empty column");
    tap_holds(sink, "\n  one ", "an indented row");
    tap_ok(strstr(sink, " \n") == NULL, "no blanks at the end of a line");
    for (char *line = strtok(sink, "\n"); line != NULL; line = strtok(NULL, "\n"))
        tap_ok(strlen(line) <= DT_TABLE_COLUMNS, "a line of %zu columns", strlen(line));
}

/* ---- Drawings ---- */

static void test_svg_text(void)
{
    static const struct dt_svg_font font = {10, false, true, DT_SVG_LEFT, "#000000"};
    static const struct {
        const char *name;
        int room;
        const char *text, *expected;
    } rows[] = {
        {"fits", 100, "mlx5_0", ">mlx5_0<"},
        {"cut", 40, "0123456789", ">012...<"},
        {"no room for even that", 20, "0123456789", ""},
        {"no room at all", -5, "x", ""},
        {"nothing to say", 100, "", ""},
        {"markup", 200, "<a href=\"&\">", ">&lt;a href=&quot;&amp;&quot;&gt;<"},
        {"what XML forbids", 200, "a\x01\x7f\xff" "b", ">a???b<"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_out *out = start();

        dt_svg_text(out, 1, 2, rows[i].room, &font, rows[i].text);
        printed(out);
        if (rows[i].expected[0] == '\0')
            tap_ok(sink[0] == '\0', "a text in a drawing: %s", rows[i].name);
        else
            tap_holds(sink, rows[i].expected, rows[i].name);
    }
}

static bool is_apart(struct dt_box a, struct dt_box b)
{
    return a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
}

static bool is_inside(struct dt_box in, struct dt_box out)
{
    return in.x >= out.x && in.y >= out.y && in.x + in.w <= out.x + out.w && in.y + in.h <= out.y + out.h;
}

/* Each device once and inside its NUMA node, none over another. */
static void check_layout(const struct dt_topo *topo, const char *name)
{
    struct dt_topo_layout *layout = dt_topo_layout_create(topo, true, NULL);
    bool is_good = true;

    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        is_good = is_good && is_inside(layout->gpus[i], layout->places[layout->gpu_place[i]].box);
        for (uint32_t j = 0; j < i; j++)
            is_good = is_good && is_apart(layout->gpus[i], layout->gpus[j]);
        for (uint32_t j = 0; j < topo->nic_count; j++)
            is_good = is_good && is_apart(layout->gpus[i], layout->nics[j]);
    }
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        is_good = is_good && is_inside(layout->nics[i], layout->places[layout->nic_place[i]].box);
        for (uint32_t j = 0; j < i; j++)
            is_good = is_good && is_apart(layout->nics[i], layout->nics[j]);
    }
    for (uint32_t i = 0; i < layout->place_count; i++)
        for (uint32_t j = 0; j < i; j++)
            is_good = is_good && is_apart(layout->places[i].box, layout->places[j].box);
    for (uint32_t i = 0; i < layout->socket_count; i++)
        for (uint32_t j = 0; j < i; j++)
            is_good = is_good && is_apart(layout->sockets[i].box, layout->sockets[j].box);
    tap_ok(is_good, "everything has its place: %s", name);
    dt_topo_layout_destroy(layout);
}

/* As many devices as there can be, some nowhere. */
static struct dt_topo *crowd(void)
{
    struct dt_topo *topo = node_create(4, 2);

    for (uint32_t i = 0; i < DT_TOPO_GPUS_MAX; i++) {
        node_add_gpu(topo, (int)(i % 5) - 1);
        topo->gpus[i].socket = (int)(i % 3) - 1;
    }
    for (uint32_t i = 0; i < DT_TOPO_NICS_MAX; i++)
        node_add_nic(topo, (int)(i % 6) < 4 ? (int)(i % 6) : -1, "<nic & co>");
    node_link_all(topo, DT_PATH_NVLINK, 1);
    node_link(topo, 0, 1, DT_PATH_XGMI, 2);
    return topo;
}

static void check_node(struct dt_topo *topo, const char *name)
{
    const struct dt_topo_view view = {.topo = topo};
    struct dtrain_error err;
    struct dt_out *out = start();

    check_layout(topo, name);
    tap_ok(dt_topo_svg_print(out, &view, &err) == 0, "%s is drawn", name);
    tap_ok(strstr(printed(out), "& ") == NULL && strstr(sink, "<nic") == NULL, "names are no markup: %s",
           name);
    out = start();
    tap_ok(dt_topo_text_print(out, &view, &err) == 0, "%s is printed", name);
    tap_ok(strstr(printed(out), "(null)") == NULL, "with a word for everything: %s", name);
    dt_topo_destroy(topo);
}

static void test_nodes(void)
{
    check_node(node_create(1, 1), "a node without devices");
    check_node(dt_topo_create("nothing", NULL), "a node without anything");
    check_node(node_dgx_a100(), "8 GPUs at a switch");
    check_node(node_dgx_1v(), "a hybrid cube mesh");
    check_node(node_pcie_pairs(), "bridged pairs");
    check_node(node_mi250x(), "modules of two");
    check_node(crowd(), "as many devices as there can be");
}

/* ---- JSON ---- */

static void test_json(void)
{
    struct dt_topo *topo = node_create(1, 2);
    const struct dt_topo_view view = {.topo = topo};
    struct dt_out *out = start();

    node_add_gpu(topo, 0);
    node_add_gpu(topo, 0);
    topo->gpus[1].part = 1;
    topo->gpus[1].vendor = DT_VENDOR_AMD;
    topo->gpus[1].numa = -1;
    hwloc_bitmap_zero(topo->gpus[1].cpus);
    node_link(topo, 0, 1, DT_PATH_XGMI, 4);
    node_add_nic(topo, 0, "a\"b");
    topo->nic_path[0][0].path = DT_PATH_SWITCH;
    topo->nic_path[1][0].path = DT_PATH_UNKNOWN;
    dt_topo_json_print(out, &view);
    printed(out);
    tap_holds(sink,
              "{\"source\": \"a test's node\",\n\"gpus\": [\n {\"index\": 0, \"pci\": \"0000:10:00.0\", ",
              "JSON names the source and the first GPU");
    tap_holds(sink, "\"part\": null, \"package\": null, \"numa\": 0, \"socket\": null,\n  \"cpus\": \"0-3\", "
                    "\"nics\": [\"a\\\"b\"],\n  \"links\": [\n   {\"peer\": 1, \"pci\": \"0000:11:00.0\", "
                    "\"kind\": \"xGMI\", \"count\": 4}]}",
              "where a GPU is, its nearest NICs, its links");
    tap_holds(sink,
              "\"vendor\": \"amd\", \"name\": \"cuda1\", \"part\": 1, \"package\": null, \"numa\": null, "
              "\"socket\": null,\n  \"cpus\": \"\", \"nics\": [],",
              "what is not known is null or empty");
    tap_holds(
        sink,
        "\"numas\": [\n {\"numa\": 0, \"socket\": null, \"is_gpu_memory\": false, \"cpus\": \"0-3\"}],\n"
        "\"cpus\": \"0-3\", \"cores\": 2}\n",
        "NUMA nodes, CPUs and cores");
    dt_topo_destroy(topo);
}

int main(void)
{
    test_symbols();
    test_cpus();
    test_sockets();
    test_nearest();
    test_table();
    test_svg_text();
    test_nodes();
    test_json();
    return tap_done();
}
