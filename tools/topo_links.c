#include "tools/topo_links.h"

#include <stdio.h>
#include <stdlib.h>

#define EDGES_MAX 160u   /* lines that are drawn one by one */
#define TRACKS_MAX 48    /* heights at which they run */
#define TRACK_HEIGHT 20
#define FIRST_TRACK 20   /* below the sockets */
#define BUS_HEIGHT 24
#define LABEL_MAX 16     /* bytes of "x12" with the NUL */
#define TRACK_GAP 8      /* between two lines of one track */
#define LABEL_WIDTH 34
#define MESH_GPUS_MIN 5u /* from here on links of all with all become one bus */
#define STROKE_MAX 6

/* One line: two GPUs, where it leaves each, and the track that it runs on. */
struct edge {
    uint32_t a, b; /* a is left of b */
    struct dt_path_info path;
    int xa, xb, track;
};

struct links {
    uint32_t count;
    struct edge edges[EDGES_MAX];
    bool is_too_many;
};

const char *dt_topo_links_colour(enum dt_path path)
{
    switch (path) {
    case DT_PATH_NVLINK:
    case DT_PATH_NVSWITCH:
        return "#4f8a10";
    case DT_PATH_XGMI:
        return "#c0452c";
    case DT_PATH_XELINK:
        return "#1f6fb2";
    default:
        return "#9aa3ad";
    }
}

/* ---- Which lines there are ---- */

/* Whether all GPUs are linked with each other by as many links of one kind: that is drawn as a bus. */
static bool is_mesh(const struct dt_topo *topo)
{
    struct dt_path_info first = topo->gpu_count > 1 ? topo->gpu_path[0][1] : (struct dt_path_info){0};

    if (topo->gpu_count < MESH_GPUS_MIN || !dt_topo_is_link(first.path))
        return false;
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (topo->gpu_path[i][j].path != first.path || topo->gpu_path[i][j].count != first.count)
                return false;
    return true;
}

static void add_edge(struct links *links, const struct dt_topo_layout *layout, uint32_t i, uint32_t j,
                     struct dt_path_info path)
{
    bool is_left = layout->gpus[i].x < layout->gpus[j].x;

    if (links->count == EDGES_MAX) {
        links->is_too_many = true;
        return;
    }
    links->edges[links->count++] = (struct edge){.a = is_left ? i : j, .b = is_left ? j : i, .path = path};
}

static int length_of(const struct dt_topo_layout *layout, const struct edge *edge)
{
    return layout->gpus[edge->b].x - layout->gpus[edge->a].x;
}

static void sort_by_length(struct links *links, const struct dt_topo_layout *layout)
{
    for (uint32_t i = 1; i < links->count; i++) {
        struct edge edge = links->edges[i];
        uint32_t j = i;

        for (; j > 0 && length_of(layout, &links->edges[j - 1]) > length_of(layout, &edge); j--)
            links->edges[j] = links->edges[j - 1];
        links->edges[j] = edge;
    }
}

static void collect(struct links *links, const struct dt_topo *topo, const struct dt_topo_layout *layout)
{
    links->count = 0;
    links->is_too_many = false;
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = i + 1; j < topo->gpu_count; j++)
            if (dt_topo_is_link(topo->gpu_path[i][j].path) && topo->gpu_path[i][j].path != DT_PATH_NVSWITCH)
                add_edge(links, layout, i, j, topo->gpu_path[i][j]);
    sort_by_length(links, layout);
}

/* ---- Where they run ---- */

/*
 * Lines to the left leave a GPU from its left half, the shortest first; then
 * those to the right, the longest first: so those of one GPU do not cross.
 */
static void spread_ports(struct links *links, const struct dt_topo_layout *layout, uint32_t gpu)
{
    const struct dt_box *box = &layout->gpus[gpu];
    uint32_t ports = 0, port = 0;

    for (uint32_t i = 0; i < links->count; i++)
        ports += links->edges[i].a == gpu || links->edges[i].b == gpu;
    for (uint32_t i = 0; i < links->count; i++)
        if (links->edges[i].b == gpu)
            links->edges[i].xb = box->x + box->w * (int)++port / (int)(ports + 1);
    for (uint32_t i = links->count; i-- > 0;)
        if (links->edges[i].a == gpu)
            links->edges[i].xa = box->x + box->w * (int)++port / (int)(ports + 1);
}

/* Whether two lines would touch on one track; each needs room for its label. */
static bool collide(const struct edge *one, const struct edge *two)
{
    int middle_one = (one->xa + one->xb) / 2, middle_two = (two->xa + two->xb) / 2;
    int half_one = (one->xb - one->xa) / 2, half_two = (two->xb - two->xa) / 2;

    half_one = half_one > LABEL_WIDTH / 2 ? half_one : LABEL_WIDTH / 2;
    half_two = half_two > LABEL_WIDTH / 2 ? half_two : LABEL_WIDTH / 2;
    return abs(middle_one - middle_two) < half_one + half_two + TRACK_GAP;
}

/* The first track where it touches none before it, and below all lines that it is drawn around. */
static int find_track(const struct links *links, uint32_t i)
{
    int track = 0;

    for (uint32_t j = 0; j < i; j++)
        if (collide(&links->edges[i], &links->edges[j]) && links->edges[j].track >= track)
            track = links->edges[j].track + 1;
    return track;
}

static int assign_tracks(struct links *links, const struct dt_topo *topo, const struct dt_topo_layout *layout)
{
    int tracks = 0;

    for (uint32_t gpu = 0; gpu < topo->gpu_count; gpu++)
        spread_ports(links, layout, gpu);
    for (uint32_t i = 0; i < links->count; i++) {
        links->edges[i].track = find_track(links, i);
        if (links->edges[i].track >= tracks)
            tracks = links->edges[i].track + 1;
    }
    return tracks;
}

/* ---- Drawing ---- */

static int stroke_of(struct dt_path_info path)
{
    int width = path.count > 1 ? 1 + path.count : 2;

    return width < STROKE_MAX ? width : STROKE_MAX;
}

static void draw_edge(struct dt_out *out, const struct edge *edge, int y, int gpu_bottom)
{
    const int points[] = {edge->xa, gpu_bottom, edge->xa, y, edge->xb, y, edge->xb, gpu_bottom};

    dt_svg_line(out, points, 4, dt_topo_links_colour(edge->path.path), stroke_of(edge->path));
}

/* On white, after all lines, so that none runs through it. */
static void draw_label(struct dt_out *out, const struct edge *edge, int y)
{
    const struct dt_svg_font font = {11, true, true, DT_SVG_MIDDLE, dt_topo_links_colour(edge->path.path)};
    const struct dt_svg_paint white = {.fill = "#ffffff", .stroke = "none"};
    int middle = (edge->xa + edge->xb) / 2, width;
    char label[LABEL_MAX];

    if (edge->path.count == 0)
        return;
    snprintf(label, sizeof(label), "x%u", edge->path.count);
    width = dt_svg_text_width(&font, label);
    dt_svg_box(out, (struct dt_box){middle - width / 2 - 2, y - 7, width + 4, 14}, &white, NULL);
    dt_svg_text(out, middle, y + 4, LABEL_WIDTH, &font, label);
}

static int draw_edges(struct dt_out *out, const struct links *links, int tracks, int y, int gpu_bottom)
{
    for (uint32_t i = links->count; i-- > 0;)
        draw_edge(out, &links->edges[i], y + FIRST_TRACK + links->edges[i].track * TRACK_HEIGHT, gpu_bottom);
    for (uint32_t i = 0; i < links->count; i++)
        draw_label(out, &links->edges[i], y + FIRST_TRACK + links->edges[i].track * TRACK_HEIGHT);
    return y + FIRST_TRACK + tracks * TRACK_HEIGHT;
}

static bool is_on_bus(const struct dt_topo *topo, uint32_t gpu, enum dt_path path)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (topo->gpu_path[gpu][i].path == path)
            return true;
    return false;
}

/* A bar under all GPUs that have a link of this kind, and a leg from each. */
static int draw_bus(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                    enum dt_path path, const char *text, int y, int gpu_bottom)
{
    const struct dt_svg_paint paint = {
        .fill = "#ffffff", .stroke = dt_topo_links_colour(path), .stroke_width = 3, .radius = 6};
    const struct dt_svg_font font = {12, true, false, DT_SVG_MIDDLE, dt_topo_links_colour(path)};
    int left = layout->width, right = 0;

    y += FIRST_TRACK;
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        const struct dt_box *box = &layout->gpus[i];
        const int leg[] = {box->x + box->w / 2, gpu_bottom, box->x + box->w / 2, y};

        if (!is_on_bus(topo, i, path))
            continue;
        dt_svg_line(out, leg, 2, paint.stroke, 3);
        left = box->x < left ? box->x : left;
        right = box->x + box->w > right ? box->x + box->w : right;
    }
    dt_svg_box(out, (struct dt_box){left, y, right - left, BUS_HEIGHT}, &paint, NULL);
    dt_svg_text(out, (left + right) / 2, y + BUS_HEIGHT - 8, right - left - 8, &font, text);
    return y + BUS_HEIGHT;
}

static int draw_switch(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                       int y, int gpu_bottom)
{
    bool has_switch = false;
    uint16_t count = 0;
    char text[64];

    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        has_switch = has_switch || is_on_bus(topo, i, DT_PATH_NVSWITCH);
        for (uint32_t j = 0; j < i; j++)
            if (topo->gpu_path[i][j].path == DT_PATH_NVSWITCH && topo->gpu_path[i][j].count > count)
                count = topo->gpu_path[i][j].count;
    }
    if (!has_switch)
        return y;
    if (count > 0)
        snprintf(text, sizeof(text), "NVSwitch, x%u from each GPU", count);
    else
        snprintf(text, sizeof(text), "NVSwitch");
    return draw_bus(out, topo, layout, DT_PATH_NVSWITCH, text, y, gpu_bottom);
}

static int draw_mesh(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                     int y, int gpu_bottom)
{
    struct dt_path_info path = topo->gpu_path[0][1];
    char text[64];

    if (path.count > 0)
        snprintf(text, sizeof(text), "%s x%u between every two GPUs", dt_path_words[path.path], path.count);
    else
        snprintf(text, sizeof(text), "%s between every two GPUs", dt_path_words[path.path]);
    return draw_bus(out, topo, layout, path.path, text, y, gpu_bottom);
}

int dt_topo_links_draw(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                       int y, int gpu_bottom)
{
    const struct dt_svg_font font = {12, false, false, DT_SVG_LEFT, "#333333"};
    struct links links;
    int tracks;

    if (topo->gpu_count < 2)
        return y;
    if (is_mesh(topo) && topo->gpu_path[0][1].path != DT_PATH_NVSWITCH)
        return draw_mesh(out, topo, layout, y, gpu_bottom);
    y = draw_switch(out, topo, layout, y, gpu_bottom);
    collect(&links, topo, layout);
    tracks = assign_tracks(&links, topo, layout);
    if (!links.is_too_many && tracks <= TRACKS_MAX)
        return links.count > 0 ? draw_edges(out, &links, tracks, y, gpu_bottom) : y;
    dt_svg_text(out, DT_TOPO_MARGIN, y + FIRST_TRACK, layout->width - 2 * DT_TOPO_MARGIN, &font,
                "The links between the GPUs are too many to draw: the text of dtrain topo lists them.");
    return y + FIRST_TRACK + DT_TOPO_LINE;
}
