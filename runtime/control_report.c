#include "control_report.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SLICE_MS 50 /* of waiting, between two looks at whether somebody gave up */

/* ---- Its parts -------------------------------------------------------------- */

static int compare_channels(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static void sort_channels(struct dt_channels *channels)
{
    size_t kept = 0;

    if (channels->count > 0)
        qsort(channels->items, channels->count, sizeof(*channels->items), compare_channels);
    for (size_t i = 0; i < channels->count; i++)
        if (i == 0 || channels->items[i] != channels->items[i - 1])
            channels->items[kept++] = channels->items[i];
    channels->count = kept;
}

int dt_report_create(struct dt_report *report, const uint32_t *survivors, uint32_t n, uint32_t world,
                     struct dt_channels *dirty, struct dtrain_error *err)
{
    *report = (struct dt_report){.members_size = world / 8 + 1, .dirty = *dirty};
    *dirty = (struct dt_channels){NULL, 0};
    sort_channels(&report->dirty);
    report->members = calloc(1, report->members_size);
    if (report->members == NULL)
        return dt_error_memory(err, report->members_size, "the survivors");
    for (uint32_t i = 0; i < n; i++)
        report->members[survivors[i] / 8] |= (unsigned char)(1u << survivors[i] % 8);
    return 0;
}

void dt_report_free(struct dt_report *report)
{
    free(report->members);
    free(report->dirty.items);
    *report = (struct dt_report){.members = NULL};
}

bool dt_report_counts(const struct dt_report *report, uint32_t rank)
{
    return (report->members[rank / 8] & 1u << rank % 8) != 0;
}

uint32_t dt_report_difference(const struct dt_report *a, const struct dt_report *b)
{
    for (size_t i = 0; i < a->members_size; i++) {
        unsigned odd = a->members[i] ^ b->members[i];

        if (odd != 0)
            return (uint32_t)i * 8 + (uint32_t)__builtin_ctz(odd);
    }
    return DT_RANK_NONE;
}

int dt_report_merge(struct dt_report *report, const struct dt_report *other, struct dtrain_error *err)
{
    size_t count = report->dirty.count + other->dirty.count;
    uint64_t *more;

    if (other->dirty.count == 0)
        return 0;
    more = realloc(report->dirty.items, count * sizeof(*more));
    if (more == NULL)
        return dt_error_memory(err, count * sizeof(*more), "the communicators to make anew");
    memcpy(more + report->dirty.count, other->dirty.items, other->dirty.count * sizeof(*more));
    report->dirty = (struct dt_channels){more, count};
    sort_channels(&report->dirty);
    return 0;
}

/* ---- Over a connection --------------------------------------------------------- */

/* Waits for a slice of time, so that giving up is noticed. */
static int await(const struct dt_report_wire *wire, bool is_send, struct dtrain_error *err)
{
    struct pollfd wanted = {.fd = wire->fd, .events = is_send ? POLLOUT : POLLIN};
    int left_ms = dt_deadline_left_ms(&wire->deadline);

    if (left_ms == 0)
        return dt_error_set(err, "did not come to dtrain_comms_rebuild within %.4g s",
                            wire->deadline.timeout_ms / 1000.0);
    if (wire->peers->is_revoked(wire->peers->context, wire->channel, err))
        return -1;
    (void)poll(&wanted, 1, left_ms < SLICE_MS ? left_ms : SLICE_MS);
    return 0;
}

static int move(const struct dt_report_wire *wire, bool is_send, unsigned char *bytes, size_t size,
                struct dtrain_error *err)
{
    size_t moved = 0;

    while (moved < size) {
        ssize_t n = is_send ? send(wire->fd, bytes + moved, size - moved, MSG_NOSIGNAL)
                            : recv(wire->fd, bytes + moved, size - moved, 0);

        if (n > 0)
            moved += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return dt_error_set(err, "closed its connection: it died or gave up");
        else if (await(wire, is_send, err) < 0)
            return -1;
    }
    return 0;
}

int dt_report_send(const struct dt_report_wire *wire, const struct dt_report *report, struct dtrain_error *err)
{
    struct dt_buffer bytes = {0};
    int rc;

    dt_buffer_u32(&bytes, 0);
    dt_buffer_text(&bytes, report->failure);
    dt_buffer_bytes(&bytes, report->members, report->members_size);
    dt_buffer_u32(&bytes, (uint32_t)report->dirty.count);
    for (size_t i = 0; i < report->dirty.count; i++)
        dt_buffer_u64(&bytes, report->dirty.items[i]);
    if (bytes.is_broken) {
        rc = dt_error_memory(err, report->members_size, "a report");
    } else {
        dt_buffer_set_u32(&bytes, 0, (uint32_t)bytes.size - 4);
        rc = move(wire, true, bytes.data, bytes.size, err);
    }
    dt_buffer_free(&bytes);
    return rc;
}

static int read_channels(struct dt_reader *reader, struct dt_channels *channels)
{
    channels->count = dt_reader_u32(reader);
    if (reader->is_broken || channels->count > reader->left / 8) {
        channels->count = 0;
        return -1;
    }
    channels->items = malloc(channels->count * sizeof(*channels->items) + 1);
    if (channels->items == NULL)
        channels->count = 0;
    for (size_t i = 0; i < channels->count; i++)
        channels->items[i] = dt_reader_u64(reader);
    return channels->items != NULL && dt_reader_is_done(reader) ? 0 : -1;
}

static int read_report(struct dt_report *report, const unsigned char *bytes, size_t size, struct dtrain_error *err)
{
    struct dt_reader reader = {.data = bytes, .left = size};

    dt_reader_text(&reader, report->failure, sizeof(report->failure));
    dt_reader_bytes(&reader, report->members, report->members_size);
    return read_channels(&reader, &report->dirty) == 0
               ? 0
               : dt_error_set(err, "sent a report of %zu bytes that is malformed", size);
}

int dt_report_receive(const struct dt_report_wire *wire, struct dt_report *report, uint32_t world,
                      struct dtrain_error *err)
{
    unsigned char head[4], *bytes;
    struct dt_reader reader = {.data = head, .left = sizeof(head)};
    size_t size, fixed;
    int rc;

    report->members_size = world / 8 + 1;
    fixed = 2 + report->members_size + 4;
    if (move(wire, false, head, sizeof(head), err) < 0)
        return -1;
    size = dt_reader_u32(&reader);
    if (size < fixed || size > fixed + DT_MESSAGE_TEXT_MAX + (size_t)DT_CHANNELS_MAX * 8)
        return dt_error_set(err, "sent a report of %zu bytes: at least %zu were expected", size, fixed);
    report->members = calloc(1, report->members_size);
    bytes = malloc(size);
    if (report->members == NULL || bytes == NULL)
        rc = dt_error_memory(err, size, "a report");
    else
        rc = move(wire, false, bytes, size, err);
    if (rc == 0)
        rc = read_report(report, bytes, size, err);
    free(bytes);
    return rc;
}
