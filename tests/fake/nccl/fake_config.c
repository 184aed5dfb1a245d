/* fake_config.c - ncclConfig_t: its frame, its ranges, and what stands for what is undefined. */
#include <string.h>

#include "fake_comm.h"

#define CONFIG_MAGIC 0xcafebeefu
#define CTAS_MAX 64
#define CLUSTER_MAX 8

struct field {
    const char *name;
    size_t offset;
    int least, most, otherwise;
};

#define FIELD(name, least, most, otherwise)                                                                  \
    {                                                                                                        \
        #name, offsetof(ncclConfig_t, name), least, most, otherwise                                          \
    }

static const struct field fields[] = {
    FIELD(blocking, 0, 1, 1),
    FIELD(cgaClusterSize, 0, CLUSTER_MAX, 4),
    FIELD(minCTAs, 1, CTAS_MAX, 1),
    FIELD(maxCTAs, 1, CTAS_MAX, CTAS_MAX),
    FIELD(splitShare, 0, 1, 0),
    FIELD(trafficClass, 0, INT_MAX, NCCL_CONFIG_UNDEF_INT),
    FIELD(collnetEnable, 0, 1, 0),
    FIELD(CTAPolicy, NCCL_CTA_POLICY_DEFAULT, NCCL_CTA_POLICY_ZERO, NCCL_CTA_POLICY_DEFAULT),
    FIELD(shrinkShare, 0, 1, 0),
    FIELD(nvlsCTAs, 1, CTAS_MAX, NCCL_CONFIG_UNDEF_INT),
    FIELD(nChannelsPerNetPeer, 1, CTAS_MAX, NCCL_CONFIG_UNDEF_INT),
    FIELD(nvlinkCentricSched, 0, 1, 0),
};

static int *value_of(ncclConfig_t *config, const struct field *field)
{
    return (int *)(void *)((char *)config + field->offset);
}

static ncclResult_t check_frame(const ncclConfig_t *given)
{
    if (given->magic != CONFIG_MAGIC)
        return fake_fail(ncclInvalidArgument, "the configuration was not made with NCCL_CONFIG_INITIALIZER");
    if (given->size != sizeof(*given) || given->version != NCCL_VERSION_CODE)
        return fake_fail(ncclInvalidArgument,
                         "the configuration has size %zu and version %u: expected %zu, %d", given->size,
                         given->version, sizeof(*given), NCCL_VERSION_CODE);
    if (given->netName != NULL && *given->netName == '\0')
        return fake_fail(ncclInvalidArgument, "the configuration's netName is empty");
    return ncclSuccess;
}

static ncclResult_t read_field(ncclConfig_t *config, const struct field *field, const ncclConfig_t *parent)
{
    int *value = value_of(config, field);

    if (*value == NCCL_CONFIG_UNDEF_INT) {
        *value = field->otherwise;
        if (parent != NULL)
            memcpy(value, (const char *)parent + field->offset, sizeof(*value));
        return ncclSuccess;
    }
    if (*value < field->least || *value > field->most)
        return fake_fail(ncclInvalidArgument, "the configuration's %s is %d: expected %d to %d", field->name,
                         *value, field->least, field->most);
    return ncclSuccess;
}

ncclResult_t fake_config_read(ncclConfig_t *config, const ncclConfig_t *given, const ncclConfig_t *parent)
{
    static const ncclConfig_t undefined = NCCL_CONFIG_INITIALIZER;
    ncclResult_t result = given != NULL ? check_frame(given) : ncclSuccess;

    *config = given != NULL ? *given : undefined;
    for (size_t i = 0; result == ncclSuccess && i < sizeof(fields) / sizeof(fields[0]); i++)
        result = read_field(config, &fields[i], parent);
    if (result != ncclSuccess)
        return result;
    if (config->minCTAs > config->maxCTAs)
        return fake_fail(ncclInvalidArgument, "the configuration's minCTAs %d is more than maxCTAs %d",
                         config->minCTAs, config->maxCTAs);
    if (config->netName == NULL && parent != NULL)
        config->netName = parent->netName;
    if (config->commName == NULL && parent != NULL)
        config->commName = parent->commName;
    return ncclSuccess;
}
