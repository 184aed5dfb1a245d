#include "tools/topo_svg.h"

#include <limits.h>
#include <stdio.h>

#include "tools/topo_layout.h"
#include "tools/topo_links.h"

#define INK "#1f2933"
#define FAINT "#616e7c"
#define WIRE "#b3bcc6"
#define PAD 7           /* between a box and its text */
#define TEXT_MAX 160    /* bytes of a line of text */
#define TASKS_MAX 64u   /* tasks without a GPU that are drawn */
#define LEGEND_HEIGHT 30
#define PALETTE (sizeof(palette) / sizeof(palette[0]))

static const char *const palette[] = {"#cfe3f7", "#fddcbd", "#d3ecd0", "#f5d0e2",
                                      "#e0d8f3", "#fff0b3", "#cdeeee", "#e8dccb"};

static const struct dt_svg_font font_title = {18, true, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_head = {13, true, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_text = {11, false, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_faint = {11, false, false, DT_SVG_LEFT, FAINT};
static const struct dt_svg_font font_mono = {11, false, true, DT_SVG_LEFT, FAINT};
static const struct dt_svg_font font_bar = {10, false, false, DT_SVG_MIDDLE, FAINT};

const char *dt_topo_svg_group_colour(uint32_t group)
{
    return palette[group % PALETTE];
}

static void line_of(struct dt_out *out, struct dt_box box, int line, const struct dt_svg_font *font,
                    const char *text)
{
    dt_svg_text(out, box.x + PAD, box.y + 4 + line * DT_TOPO_LINE, box.w - 2 * PAD, font, text);
}

/* ---- Sockets and NUMA nodes ---- */

static void draw_socket(struct dt_out *out, const struct dt_topo_socket *socket)
{
    const struct dt_svg_paint paint = {
        .fill = "#f4f6f8", .stroke = "#c5ced8", .stroke_width = 1, .radius = 8};
    char text[TEXT_MAX];

    dt_svg_box(out, socket->box, &paint, NULL);
    snprintf(text, sizeof(text), "socket %d", socket->socket);
    if (socket->socket >= 0)
        dt_svg_text(out, socket->box.x + PAD + 5, socket->box.y + 18, socket->box.w - 2 * PAD, &font_head,
                    text);
}

static void draw_place(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_place *place)
{
    const struct dt_svg_paint paint = {
        .fill = "#ffffff", .stroke = "#c5ced8", .stroke_width = 1, .radius = 6};
    char text[TEXT_MAX], cpus[DT_TOPO_LIST_MAX];

    dt_svg_box(out, place->box, &paint, NULL);
    if (place->numa < 0) {
        line_of(out, place->box, 1, &font_head, "NUMA not known");
        return;
    }
    snprintf(text, sizeof(text), "NUMA %d", topo->numas[place->numa].os_index);
    line_of(out, place->box, 1, &font_head, text);
    snprintf(text, sizeof(text), "CPUs %s", dt_topo_cpus(cpus, topo->numas[place->numa].cpus));
    if (cpus[0] == '\0')
        snprintf(text, sizeof(text), "CPUs not known");
    line_of(out, place->box, 2, &font_mono, text);
}

/* ---- Wires ---- */

static int middle_of(struct dt_box box)
{
    return box.x + box.w / 2;
}

static int spine_of(const struct dt_topo_hub *hub)
{
    return hub->bar.x - 9;
}

/* Of a level line, so that it reaches x. */
static void stretch(int line[4], int x)
{
    line[0] = x < line[0] ? x : line[0];
    line[2] = x > line[2] ? x : line[2];
}

static int head_of(const struct dt_topo_layout *layout, uint32_t place)
{
    return layout->places[place].box.y + 4 + 2 * DT_TOPO_LINE + 6;
}

/* The host side of a NUMA node's wires: from the first to the last of them. */
static void draw_head(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                      uint32_t place)
{
    int line[] = {INT_MAX, head_of(layout, place), INT_MIN, head_of(layout, place)};

    for (uint32_t i = 0; i < layout->hub_count; i++)
        if (layout->hubs[i].place == place)
            stretch(line, spine_of(&layout->hubs[i]));
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (layout->nic_place[i] == place && layout->nic_hub[i] < 0)
            stretch(line, middle_of(layout->nics[i]));
    if (line[0] < line[2])
        dt_svg_line(out, line, 2, WIRE, 2);
}

/* From the NUMA node past the NICs to the hub, and from the hub to each of its devices. */
static void draw_hub(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                     int index)
{
    const struct dt_topo_hub *hub = &layout->hubs[index];
    int middle = hub->bar.y + hub->bar.h / 2, spine = spine_of(hub);
    const int down[] = {spine,  head_of(layout, hub->place),   spine,
                        middle, hub->bar.x + DT_TOPO_UNIT / 2, middle};

    dt_svg_line(out, down, 3, WIRE, 2);
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        int x = middle_of(layout->gpus[i]);
        const int wire[] = {x, middle, x, layout->gpus[i].y};

        if (layout->gpu_hub[i] == index)
            dt_svg_line(out, wire, 2, WIRE, 2);
    }
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        int x = middle_of(layout->nics[i]);
        const int wire[] = {x, middle, x, layout->nics[i].y + layout->nics[i].h};

        if (layout->nic_hub[i] == index)
            dt_svg_line(out, wire, 2, WIRE, 2);
    }
    if (!hub->is_switch)
        return;
    dt_svg_box(out, hub->bar,
               &(struct dt_svg_paint){.fill = "#e4e9ee", .stroke = WIRE, .stroke_width = 1, .radius = 4},
               NULL);
    dt_svg_text(out, middle_of(hub->bar), hub->bar.y + 13, hub->bar.w, &font_bar, "PCIe switch");
}

/* A NIC without a switch hangs on the NUMA node itself. */
static void draw_nic_wire(struct dt_out *out, const struct dt_topo_layout *layout, uint32_t nic)
{
    int x = middle_of(layout->nics[nic]);
    const int wire[] = {x, head_of(layout, layout->nic_place[nic]), x, layout->nics[nic].y};

    if (layout->nic_hub[nic] < 0)
        dt_svg_line(out, wire, 2, WIRE, 2);
}

/* ---- Devices ---- */

static void draw_nic(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                     uint32_t i)
{
    const struct dt_topo_nic *nic = &topo->nics[i];
    const struct dt_svg_paint paint = {.fill = nic->is_used ? "#eaf3fb" : "#ffffff",
                                       .stroke = nic->is_used ? "#5b8fbf" : WIRE,
                                       .stroke_width = 1,
                                       .radius = 4,
                                       .is_dashed = !nic->is_used};

    dt_svg_box(out, layout->nics[i], &paint, nic->pci);
    line_of(out, layout->nics[i], 1, nic->is_used ? &font_head : &font_faint, nic->name);
    line_of(out, layout->nics[i], 2, &font_faint, nic->is_used ? dt_topo_nic_words[nic->kind] : "not used");
}

static void draw_gpu(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                     uint32_t i)
{
    const struct dt_topo_gpu *gpu = &topo->gpus[i];
    const struct dt_svg_paint paint = {.fill = "#eef0f2", .stroke = INK, .stroke_width = 1, .radius = 4};
    char text[TEXT_MAX];

    dt_svg_box(out, layout->gpus[i], &paint, gpu->name);
    snprintf(text, sizeof(text), "GPU %u", i);
    line_of(out, layout->gpus[i], 1, &font_head, text);
    snprintf(text, sizeof(text), "%s %s", dt_topo_vendor_titles[gpu->vendor], gpu->name);
    line_of(out, layout->gpus[i], 2, &font_text, text);
    if (gpu->part >= 0)
        snprintf(text, sizeof(text), "%s/%d", gpu->pci, gpu->part);
    else
        snprintf(text, sizeof(text), "%s", gpu->pci);
    line_of(out, layout->gpus[i], 3, &font_mono, text);
}

/* ---- Tasks ---- */

void dt_topo_svg_task(struct dt_out *out, struct dt_box box, const struct dt_topo_view *view, uint32_t i)
{
    const struct dt_bind_task *task = &view->binding->tasks[i];
    uint32_t group = dt_topo_view_group(view, i);
    const struct dt_svg_paint paint = {
        .fill = dt_topo_svg_group_colour(group), .stroke = INK, .stroke_width = 1, .radius = 4};
    char text[TEXT_MAX], cpus[DT_TOPO_LIST_MAX];

    dt_svg_box(out, box, &paint, task->reason);
    snprintf(text, sizeof(text), "task %u", i);
    line_of(out, box, 1, &font_head, text);
    snprintf(text, sizeof(text), "tp group %u", group);
    line_of(out, box, 2, &font_text, text);
    snprintf(text, sizeof(text), "%s", task->keeps_cpus ? "CPUs as given" : dt_topo_cpus(cpus, task->cpus));
    line_of(out, box, 3, &font_mono, text);
    snprintf(text, sizeof(text), "%s", task->nic >= 0 ? view->topo->nics[task->nic].name : "no NIC");
    line_of(out, box, 4, &font_text, text);
}

static struct dt_box below(struct dt_box box)
{
    return (struct dt_box){box.x, box.y + box.h, box.w, DT_TOPO_TASK_HEIGHT};
}

static void draw_gpu_tasks(struct dt_out *out, const struct dt_topo_view *view,
                           const struct dt_topo_layout *layout)
{
    const struct dt_svg_paint paint = {.fill = "#ffffff", .stroke = WIRE, .stroke_width = 1, .radius = 4};
    bool is_taken[DT_TOPO_GPUS_MAX] = {false};

    for (uint32_t i = 0; i < view->binding->task_count; i++) {
        int gpu = view->binding->tasks[i].gpu;

        if (gpu < 0)
            continue;
        dt_topo_svg_task(out, below(layout->gpus[gpu]), view, i);
        is_taken[gpu] = true;
    }
    for (uint32_t i = 0; i < view->topo->gpu_count; i++) {
        if (is_taken[i])
            continue;
        dt_svg_box(out, below(layout->gpus[i]), &paint, NULL);
        line_of(out, below(layout->gpus[i]), 1, &font_faint, "no task");
    }
}

/* In rows from y on. Returns where they end. */
static int draw_other_tasks(struct dt_out *out, const struct dt_topo_view *view, int width, int y)
{
    int columns = (width - 2 * DT_TOPO_MARGIN) / (DT_TOPO_UNIT + PAD), count = 0;
    uint32_t left_out = 0;

    for (uint32_t i = 0; i < view->binding->task_count; i++) {
        struct dt_box box = {DT_TOPO_MARGIN + count % columns * (DT_TOPO_UNIT + PAD),
                             y + DT_TOPO_LINE * 2 + count / columns * (DT_TOPO_TASK_HEIGHT + PAD),
                             DT_TOPO_UNIT, DT_TOPO_TASK_HEIGHT};

        if (view->binding->tasks[i].gpu >= 0)
            continue;
        if ((unsigned)count >= TASKS_MAX) {
            left_out++;
            continue;
        }
        dt_topo_svg_task(out, box, view, i);
        count++;
    }
    if (count > 0) {
        char text[TEXT_MAX] = "Tasks without a GPU";

        if (left_out > 0)
            snprintf(text, sizeof(text), "Tasks without a GPU; %u more are not drawn", left_out);
        dt_svg_text(out, DT_TOPO_MARGIN, y + DT_TOPO_LINE + 6, width, &font_head, text);
        y += DT_TOPO_LINE * 2 + (count + columns - 1) / columns * (DT_TOPO_TASK_HEIGHT + PAD);
    }
    return y;
}

/* ---- The whole ---- */

static void draw_legend(struct dt_out *out, const struct dt_topo *topo, int width, int y)
{
    static const char *const names[] = {[DT_PATH_NVLINK] = "NVLink, NVSwitch", [DT_PATH_XGMI] = "xGMI",
                                        [DT_PATH_XELINK] = "Xe Link"};
    bool has[DT_PATH_COUNT] = {false};
    int x = DT_TOPO_MARGIN;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < topo->gpu_count; j++)
            has[topo->gpu_path[i][j].path == DT_PATH_NVSWITCH ? DT_PATH_NVLINK : topo->gpu_path[i][j].path] =
                true;
    for (unsigned path = 0; path < sizeof(names) / sizeof(names[0]); path++) {
        const int line[] = {x, y - 4, x + 24, y - 4};

        if (names[path] == NULL || !has[path])
            continue;
        dt_svg_line(out, line, 2, dt_topo_links_colour((enum dt_path)path), 4);
        dt_svg_text(out, x + 30, y, width, &font_text, names[path]);
        x += 30 + dt_svg_text_width(&font_text, names[path]) + 20;
    }
    dt_svg_line(out, (const int[]){x, y - 4, x + 24, y - 4}, 2, WIRE, 2);
    dt_svg_text(out, x + 30, y, width - x - 30, &font_text,
                x > DT_TOPO_MARGIN ? "PCIe; x4: four links" : "PCIe");
}

static void draw_all(struct dt_out *out, const struct dt_topo_view *view, const struct dt_topo_layout *layout)
{
    const struct dt_topo *topo = view->topo;

    for (uint32_t i = 0; i < layout->socket_count; i++)
        draw_socket(out, &layout->sockets[i]);
    for (uint32_t i = 0; i < layout->place_count; i++)
        draw_place(out, topo, &layout->places[i]);
    for (uint32_t i = 0; i < layout->place_count; i++)
        draw_head(out, topo, layout, i);
    for (uint32_t i = 0; i < layout->hub_count; i++)
        draw_hub(out, topo, layout, (int)i);
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        draw_nic_wire(out, layout, i);
        draw_nic(out, topo, layout, i);
    }
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        draw_gpu(out, topo, layout, i);
    if (view->binding != NULL)
        draw_gpu_tasks(out, view, layout);
}

/* From the links on. Returns the height of the drawing. */
static int draw_bottom(struct dt_out *out, const struct dt_topo_view *view,
                       const struct dt_topo_layout *layout, int width)
{
    int gpu_bottom = view->topo->gpu_count > 0 ? layout->gpus[0].y + layout->gpus[0].h : 0;
    int y = layout->bottom;

    if (view->binding != NULL)
        gpu_bottom += DT_TOPO_TASK_HEIGHT;
    y = dt_topo_links_draw(out, view->topo, layout, y, gpu_bottom);
    if (view->binding != NULL)
        y = draw_other_tasks(out, view, width, y);
    draw_legend(out, view->topo, width, y + LEGEND_HEIGHT);
    return y + LEGEND_HEIGHT + DT_TOPO_MARGIN;
}

/* The height is known only once all is drawn: the first pass goes nowhere. */
static int write_nothing(void *context, const char *text, size_t n)
{
    (void)context;
    (void)text;
    (void)n;
    return 0;
}

int dt_topo_svg_print(struct dt_out *out, const struct dt_topo_view *view, struct dtrain_error *err)
{
    struct dt_topo_layout *layout = dt_topo_layout_create(view->topo, view->binding != NULL, err);
    char title[TEXT_MAX * 2], summary[DT_TOPO_SUMMARY_MAX];
    struct dt_out nowhere;
    int width, height;

    if (layout == NULL)
        return -1;
    snprintf(title, sizeof(title), "%s: %s", dt_topo_title(view->topo), dt_topo_summary(summary, view->topo));
    width = 2 * DT_TOPO_MARGIN + dt_svg_text_width(&font_title, title);
    width = layout->width > width ? layout->width : width;
    dt_out_init(&nowhere, write_nothing, NULL);
    height = draw_bottom(&nowhere, view, layout, width);
    dt_svg_open(out, width, height, title);
    dt_svg_text(out, DT_TOPO_MARGIN, 34, width - 2 * DT_TOPO_MARGIN, &font_title, title);
    draw_all(out, view, layout);
    draw_bottom(out, view, layout, width);
    dt_svg_close(out);
    dt_topo_layout_destroy(layout);
    return 0;
}
