#include "topo_wire.h"

#include <stdlib.h>
#include <string.h>

#define GROW_MIN 65536u
#define BITMAP_TEXT_MAX 65536u
#define INDEX_DIGITS_MAX 5u /* of a CPU */

enum kind { KIND_TOPO = 0x746f706f, KIND_TEXT = 0x74657874, KIND_ERROR = 0x6572726f };

void dt_topo_wire_destroy(struct dt_topo_wire *wire)
{
    free(wire->bytes);
    *wire = (struct dt_topo_wire){0};
}

static int put(struct dt_topo_wire *wire, const void *bytes, size_t size)
{
    size_t wanted = wire->size + size;

    /* GROW_MIN is a power of two: room grows at each of its multiples. */
    if (wire->bytes == NULL || wire->size / GROW_MIN != wanted / GROW_MIN) {
        char *bigger = realloc(wire->bytes, (wanted / GROW_MIN + 1) * GROW_MIN);

        if (bigger == NULL)
            return -1;
        wire->bytes = bigger;
    }
    memcpy(wire->bytes + wire->size, bytes, size);
    wire->size = wanted;
    return 0;
}

static int put_kind(struct dt_topo_wire *wire, uint32_t kind)
{
    return put(wire, &kind, sizeof(kind));
}

int dt_topo_wire_put_text(struct dt_topo_wire *wire, const char *text, size_t size)
{
    return put_kind(wire, KIND_TEXT) || put(wire, text, size) ? -1 : 0;
}

int dt_topo_wire_put_error(struct dt_topo_wire *wire, const struct dtrain_error *error)
{
    return put_kind(wire, KIND_ERROR) || put(wire, error, sizeof(*error)) ? -1 : 0;
}

static int put_bitmap(struct dt_topo_wire *wire, hwloc_const_bitmap_t bitmap)
{
    char *text = NULL;
    uint32_t size;
    int rc = -1;

    if (hwloc_bitmap_list_asprintf(&text, bitmap) < 0)
        return -1;
    size = (uint32_t)strlen(text) + 1;
    if (size <= BITMAP_TEXT_MAX)
        rc = put(wire, &size, sizeof(size)) || put(wire, text, size) ? -1 : 0;
    free(text);
    return rc;
}

int dt_topo_wire_put_topo(struct dt_topo_wire *wire, const struct dt_topo *topo)
{
    if (put_kind(wire, KIND_TOPO) || put(wire, topo, sizeof(*topo)) || put_bitmap(wire, topo->cpus))
        return -1;
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (put_bitmap(wire, topo->gpus[i].cpus))
            return -1;
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (put_bitmap(wire, topo->nics[i].cpus))
            return -1;
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (put_bitmap(wire, topo->numas[i].cpus))
            return -1;
    for (uint32_t i = 0; i < topo->core_count; i++)
        if (put_bitmap(wire, topo->cores[i]))
            return -1;
    return 0;
}

static int get(void *bytes, size_t size, struct dt_topo_wire *wire)
{
    if (wire->size - wire->used < size)
        return -1;
    memcpy(bytes, wire->bytes + wire->used, size);
    wire->used += size;
    return 0;
}

/* The kind that is expected; else the child's error, or that it broke off. */
static int get_kind(struct dt_topo_wire *wire, uint32_t expected, const char *source,
                    struct dtrain_error *err)
{
    struct dtrain_error told;
    uint32_t kind = 0;

    if (get(&kind, sizeof(kind), wire) == 0 && kind == expected)
        return 0;
    if (wire->used == sizeof(kind) && kind == KIND_ERROR && get(&told, sizeof(told), wire) == 0) {
        told.text[sizeof(told.text) - 1] = '\0';
        return dt_error_set(err, "%s", told.text);
    }
    return dt_error_set(err, "%s: reading it broke off: expected a topology that hwloc can read", source);
}

/* Ranges that end, of numbers with few digits: a bitmap takes memory up to its highest. */
static bool is_bounded(const char *list)
{
    size_t length = strlen(list);

    for (const char *digits = list; *digits != '\0';
         digits += strcspn(digits, ",-"), digits += *digits != '\0')
        if (strspn(digits, "0123456789") > INDEX_DIGITS_MAX)
            return false;
    return length == 0 || list[length - 1] != '-';
}

static int get_bitmap(hwloc_bitmap_t bitmap, struct dt_topo_wire *wire)
{
    const char *text;
    uint32_t size;

    if (get(&size, sizeof(size), wire) || size == 0 || size > BITMAP_TEXT_MAX ||
        wire->size - wire->used < size)
        return -1;
    text = wire->bytes + wire->used;
    wire->used += size;
    if (text[size - 1] != '\0' || !is_bounded(text))
        return -1;
    return hwloc_bitmap_list_sscanf(bitmap, text);
}

static void end_text(char *text, size_t size)
{
    text[size - 1] = '\0';
}

/* A byte that is neither 0 nor 1 must not be read as a bool. */
static void make_bool(bool *flag)
{
    unsigned char byte;

    memcpy(&byte, flag, sizeof(byte));
    *flag = byte != 0;
}

static void copy_gpus(struct dt_topo *topo, struct dt_topo *raw)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        hwloc_bitmap_t own = topo->gpus[i].cpus;

        topo->gpus[i] = raw->gpus[i];
        topo->gpus[i].cpus = own;
        end_text(topo->gpus[i].pci, sizeof(topo->gpus[i].pci));
        end_text(topo->gpus[i].name, sizeof(topo->gpus[i].name));
    }
}

static void copy_nics(struct dt_topo *topo, struct dt_topo *raw)
{
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        hwloc_bitmap_t own = topo->nics[i].cpus;

        make_bool(&raw->nics[i].is_used);
        topo->nics[i] = raw->nics[i];
        topo->nics[i].cpus = own;
        end_text(topo->nics[i].pci, sizeof(topo->nics[i].pci));
        end_text(topo->nics[i].name, sizeof(topo->nics[i].name));
    }
}

static void copy_numas(struct dt_topo *topo, struct dt_topo *raw)
{
    for (uint32_t i = 0; i < topo->numa_count; i++) {
        hwloc_bitmap_t own = topo->numas[i].cpus;

        make_bool(&raw->numas[i].is_gpu_memory);
        topo->numas[i] = raw->numas[i];
        topo->numas[i].cpus = own;
    }
}

/* All but the bitmaps, which are pointers of another process. */
static int copy_plain(struct dt_topo *topo, struct dt_topo *raw)
{
    if (raw->gpu_count > DT_TOPO_GPUS_MAX || raw->nic_count > DT_TOPO_NICS_MAX ||
        raw->numa_count > DT_TOPO_NUMAS_MAX || raw->core_count > DT_TOPO_CORES_MAX)
        return -1;
    topo->gpu_count = raw->gpu_count;
    topo->nic_count = raw->nic_count;
    topo->numa_count = raw->numa_count;
    copy_gpus(topo, raw);
    copy_nics(topo, raw);
    copy_numas(topo, raw);
    memcpy(topo->gpu_path, raw->gpu_path, sizeof(topo->gpu_path));
    memcpy(topo->nic_path, raw->nic_path, sizeof(topo->nic_path));
    return 0;
}

static int get_cores(struct dt_topo *topo, uint32_t count, struct dt_topo_wire *wire)
{
    topo->cores = calloc(count > 0 ? count : 1, sizeof(topo->cores[0]));
    if (topo->cores == NULL)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        topo->cores[i] = hwloc_bitmap_alloc();
        if (topo->cores[i] == NULL)
            return -1;
        topo->core_count++;
        if (get_bitmap(topo->cores[i], wire))
            return -1;
    }
    return 0;
}

static int get_bitmaps(struct dt_topo *topo, uint32_t core_count, struct dt_topo_wire *wire)
{
    if (get_bitmap(topo->cpus, wire))
        return -1;
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (get_bitmap(topo->gpus[i].cpus, wire))
            return -1;
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (get_bitmap(topo->nics[i].cpus, wire))
            return -1;
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (get_bitmap(topo->numas[i].cpus, wire))
            return -1;
    return get_cores(topo, core_count, wire);
}

int dt_topo_wire_get_topo(struct dt_topo **topo, struct dt_topo_wire *wire, const char *source,
                          struct dtrain_error *err)
{
    struct dt_topo *raw = NULL, *made = NULL;
    int rc = -1;

    *topo = NULL;
    if (get_kind(wire, KIND_TOPO, source, err))
        return -1;
    raw = malloc(sizeof(*raw));
    if (raw == NULL)
        return dt_error_memory(err, sizeof(*raw), "a topology");
    made = dt_topo_create(source, err);
    if (made == NULL)
        goto out;
    if (get(raw, sizeof(*raw), wire) || copy_plain(made, raw) || get_bitmaps(made, raw->core_count, wire) ||
        wire->used != wire->size) {
        dt_error_set(err,
                     "%s: reading it gave %zu bytes that are no topology: expected one that hwloc can read",
                     source, wire->size);
        goto out;
    }
    if (dt_topo_check(made, err))
        goto out;
    *topo = made;
    made = NULL;
    rc = 0;
out:
    dt_topo_destroy(made);
    free(raw);
    return rc;
}

int dt_topo_wire_get_text(char **text, size_t *size, struct dt_topo_wire *wire, const char *source,
                          struct dtrain_error *err)
{
    *text = NULL;
    if (get_kind(wire, KIND_TEXT, source, err))
        return -1;
    *size = wire->size - wire->used;
    *text = malloc(*size + 1);
    if (*text == NULL)
        return dt_error_memory(err, *size + 1, "a topology's text");
    memcpy(*text, wire->bytes + wire->used, *size);
    (*text)[*size] = '\0';
    return 0;
}
