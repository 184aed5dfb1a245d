/* nccl_absent.c - in place of nccl_xml.c where configure found no XML parser. */
#include "core/error.h"
#include "reader.h"

bool dt_nccl_xml_recognises(const char *text, size_t size)
{
    return dt_import_has_root(text, size, "system");
}

int dt_nccl_xml_read(struct dt_topo **topo, const char *text, size_t size, const char *source,
                     struct dtrain_error *err)
{
    (void)topo, (void)text, (void)size;
    return dt_error_set(err, "%s is NCCL's XML, which this dtrain cannot read: it was built without expat",
                        source);
}
