#include "topo_file.h"

#include <stdio.h>
#include <stdlib.h>

#define PATH_MAX_BYTES 4096

char *topo_file_read(const char *name, size_t *size)
{
    const char *root = getenv("DT_SRCDIR");
    char path[PATH_MAX_BYTES];
    FILE *file;
    char *text;

    snprintf(path, sizeof(path), "%s/../shared/topologies/%s", root != NULL ? root : ".", name);
    file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    text = malloc(DT_TOPO_XML_MAX);
    if (text != NULL) {
        *size = fread(text, 1, DT_TOPO_XML_MAX - 1, file);
        text[*size] = '\0';
    }
    fclose(file);
    return text;
}

int topo_file_load(struct dt_topo **topo, const char *name, struct dtrain_error *err)
{
    size_t size = 0;
    char *text = topo_file_read(name, &size);
    int rc;

    *topo = NULL;
    if (text == NULL)
        return dt_error_set(err, "%s is not there", name);
    rc = dt_topo_from_xml(topo, text, size, name, err);
    free(text);
    return rc;
}
