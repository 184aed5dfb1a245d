#include "topo_hwloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "topo_child.h"
#include "topo_read.h"

#define TEXT_TIMEOUT_MS 20000   /* for the largest XML on a slow machine */
#define EXPORT_TIMEOUT_MS 60000 /* vendors' libraries can take seconds to start */
#define MACHINE "this machine"

static int read_topo(struct dt_topo **topo, struct dt_topo_read *read, int timeout_ms,
                     struct dtrain_error *err)
{
    struct dt_topo_wire wire;
    int rc;

    *topo = NULL;
    if (dt_topo_child_run(&wire, dt_topo_read_work, read, dt_topo_read_environment, timeout_ms, read->source,
                          err))
        return -1;
    rc = dt_topo_wire_get_topo(topo, &wire, read->source, err);
    dt_topo_wire_destroy(&wire);
    return rc;
}

int dt_topo_from_xml(struct dt_topo **topo, const char *text, size_t size, const char *source,
                     struct dtrain_error *err)
{
    struct dt_topo_read read = {DT_TOPO_READ_XML, NULL, size, source};
    char *copy;
    int rc;

    *topo = NULL;
    if (size > DT_TOPO_XML_MAX)
        return dt_error_set(err, "%s has %zu bytes: expected at most %u", source, size, DT_TOPO_XML_MAX);
    copy = malloc(size + 1); /* hwloc wants a NUL behind it */
    if (copy == NULL)
        return dt_error_memory(err, size + 1, "a topology");
    memcpy(copy, text, size);
    copy[size] = '\0';
    read.text = copy;
    rc = read_topo(topo, &read, TEXT_TIMEOUT_MS, err);
    free(copy);
    return rc;
}

int dt_topo_from_synthetic(struct dt_topo **topo, const char *description, struct dtrain_error *err)
{
    struct dt_topo_read read = {DT_TOPO_READ_SYNTHETIC, description, strlen(description),
                                "synthetic topology"};

    return read_topo(topo, &read, TEXT_TIMEOUT_MS, err);
}

int dt_topo_from_machine(struct dt_topo **topo, int timeout_ms, struct dtrain_error *err)
{
    struct dt_topo_read read = {DT_TOPO_READ_MACHINE, NULL, 0, MACHINE};

    return read_topo(topo, &read, timeout_ms, err);
}

int dt_topo_export_machine(char **text, size_t *size, struct dtrain_error *err)
{
    struct dt_topo_read read = {DT_TOPO_READ_MACHINE, NULL, 0, MACHINE};
    struct dt_topo_wire wire;
    int rc;

    *text = NULL;
    if (dt_topo_child_run(&wire, dt_topo_read_export_work, &read, dt_topo_read_vendor_environment,
                          EXPORT_TIMEOUT_MS, MACHINE, err))
        return -1;
    rc = dt_topo_wire_get_text(text, size, &wire, MACHINE, err);
    dt_topo_wire_destroy(&wire);
    return rc;
}
