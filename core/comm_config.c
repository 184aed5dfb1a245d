#include "comm_config.h"

#include <stdio.h>
#include <string.h>

#include "parse.h"

#define CTAS_MAX 64u /* NCCL's MAXCHANNELS */
#define SEPARATORS ",;"
#define BLANKS " \t"

const char *const dt_comm_axis_words[DT_COMM_AXES] = {
    [DT_COMM_ALL] = "all", [DT_COMM_TP] = "tp", [DT_COMM_CP] = "cp",   [DT_COMM_EP] = "ep",
    [DT_COMM_DP] = "dp",   [DT_COMM_PP] = "pp", [DT_COMM_ETP] = "etp", [DT_COMM_EDP] = "edp",
};

/* In the order of their values in NCCL. */
static const char *const policy_words[] = {"default", "efficiency", "zero"};
#define POLICY_COUNT (sizeof(policy_words) / sizeof(policy_words[0]))

static const struct dt_comm_field_row rows[DT_COMM_FIELDS] = {
    [DT_COMM_CGA_CLUSTER_SIZE] = {"cga_cluster_size", "0 to 8", 0, 8, 21700,
                                  "thread blocks of a cluster (cooperative group array)"},
    [DT_COMM_MIN_CTAS] = {"min_ctas", "1 to 64", 1, CTAS_MAX, 21700, "thread blocks of a kernel, at least"},
    [DT_COMM_MAX_CTAS] = {"max_ctas", "1 to 64", 1, CTAS_MAX, 21700,
                          "thread blocks of a kernel, at most: what is left computes beside it"},
    [DT_COMM_NET_NAME] = {"net_name", "NAME", 0, 0, 21700, "network module: Socket, IB, or a plugin's name"},
    [DT_COMM_SPLIT_SHARE] = {"split_share", "0|1", 0, 1, 21800,
                             "a communicator that the program splits off shares resources, and failures; "
                             "off unless set"},
    [DT_COMM_TRAFFIC_CLASS] = {"traffic_class", "0 to 255", 0, 255, 22600,
                               "traffic class of the network's packets"},
    [DT_COMM_COLLNET_ENABLE] = {"collnet_enable", "0|1", 0, 1, 22700,
                                "reductions inside the network (CollNet, SHARP)"},
    [DT_COMM_CTA_POLICY] = {"cta_policy", "default|efficiency|zero", 0, 0, 22700,
                            "prefer speed, few thread blocks, or none where copy engines can"},
    [DT_COMM_SHRINK_SHARE] = {"shrink_share", "0|1", 0, 1, 22700,
                              "a communicator that the program shrinks to shares resources; off unless set"},
    [DT_COMM_NVLS_CTAS] = {"nvls_ctas", "1 to 64", 1, CTAS_MAX, 22700,
                           "thread blocks of NVLink SHARP kernels"},
    [DT_COMM_CHANNELS_PER_NET_PEER] = {"n_channels_per_net_peer", "1 to 64", 1, CTAS_MAX, 22800,
                                       "channels for send and receive with a peer over the network"},
    [DT_COMM_NVLINK_CENTRIC_SCHED] = {"nvlink_centric_sched", "0|1", 0, 1, 22800,
                                      "schedule all_to_all by NVLink first"},
    [DT_COMM_MEM_ALLOC] = {"mem_alloc", "0|1", 0, 1, 0,
                           "for all only: dtrain_memory_alloc() takes memory of ncclMemAlloc(), which can be "
                           "registered with communicators"},
};

const struct dt_comm_field_row *dt_comm_field_rows(size_t *count)
{
    *count = DT_COMM_FIELDS;
    return rows;
}

/* ---- One key and value ---------------------------------------------------- */

int dt_comm_config_find(enum dt_comm_axis *axis, enum dt_comm_field *field, const char *key,
                        struct dtrain_error *err)
{
    const char *names[DT_COMM_FIELDS];
    const char *dot = strchr(key, '.');
    char word[DT_PARSE_SHOWN_MAX] = "", shown[DT_PARSE_SHOWN_MAX + 4];
    unsigned index;

    if (dot == NULL || dot - key >= DT_PARSE_SHOWN_MAX)
        return dt_error_set(err, "'%s' is no key: expected AXIS.FIELD, for instance tp.max_ctas",
                            dt_parse_shown(shown, key));
    memcpy(word, key, (size_t)(dot - key));
    if (dt_parse_word(&index, word, dt_comm_axis_words, DT_COMM_AXES, "axis", err) != 0)
        return -1;
    *axis = (enum dt_comm_axis)index;
    for (int i = 0; i < DT_COMM_FIELDS; i++)
        names[i] = rows[i].name;
    if (dt_parse_word(&index, dot + 1, names, DT_COMM_FIELDS, word, err) != 0)
        return -1;
    *field = (enum dt_comm_field)index;
    if (*field == DT_COMM_MEM_ALLOC && *axis != DT_COMM_ALL)
        return dt_error_set(err, "%s.%s: memory is not an axis's: expected all.%s", word, names[index],
                            names[index]);
    return 0;
}

static int set_net_name(char name[DT_COMM_NET_NAME_MAX], const char *value, const char *what,
                        struct dtrain_error *err)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    char shown[DT_PARSE_SHOWN_MAX + 4];
    size_t length = strspn(value, known);

    if (length == 0 || value[length] != '\0' || length >= DT_COMM_NET_NAME_MAX)
        return dt_error_set(err, "%s: '%s' names no network module: expected letters, digits, '_', '-' and "
                                 "'.', at most %d",
                            what, dt_parse_shown(shown, value), DT_COMM_NET_NAME_MAX - 1);
    memcpy(name, value, length + 1);
    return 0;
}

int dt_comm_configs_set(struct dt_comm_configs *configs, enum dt_comm_axis axis, enum dt_comm_field field,
                        const char *value, struct dtrain_error *err)
{
    struct dt_comm_config *config = &configs->of[axis];
    const struct dt_comm_field_row *row = &rows[field];
    uint32_t number = 0;
    char what[64];
    int rc;

    snprintf(what, sizeof(what), "%s.%s", dt_comm_axis_words[axis], row->name);
    if (field == DT_COMM_NET_NAME)
        rc = set_net_name(config->net_name, value, what, err);
    else if (field == DT_COMM_CTA_POLICY)
        rc = dt_parse_word(&number, value, policy_words, POLICY_COUNT, what, err);
    else
        rc = dt_parse_u32(&number, value, row->min, row->max, what, err);
    if (rc != 0)
        return -1;
    config->values[field] = (int32_t)number;
    config->set |= 1u << field;
    return 0;
}

/* ---- All of them ------------------------------------------------------------ */

struct dt_comm_config dt_comm_config_of(const struct dt_comm_configs *configs, enum dt_comm_axis axis)
{
    const struct dt_comm_config *own = &configs->of[axis];
    struct dt_comm_config config = configs->of[DT_COMM_ALL];

    config.set |= own->set;
    for (int i = 0; i < DT_COMM_FIELDS; i++)
        if ((own->set & 1u << i) != 0)
            config.values[i] = own->values[i];
    if (dt_comm_config_has(own, DT_COMM_NET_NAME))
        memcpy(config.net_name, own->net_name, sizeof(config.net_name));
    return config;
}

int dt_comm_configs_check(const struct dt_comm_configs *configs, enum dt_comm_axis *axis,
                          struct dtrain_error *err)
{
    for (int i = 0; i < DT_COMM_AXES; i++) {
        struct dt_comm_config config = dt_comm_config_of(configs, (enum dt_comm_axis)i);
        int32_t min = config.values[DT_COMM_MIN_CTAS], max = config.values[DT_COMM_MAX_CTAS];

        *axis = (enum dt_comm_axis)i;
        if (dt_comm_config_has(&config, DT_COMM_MIN_CTAS) && dt_comm_config_has(&config, DT_COMM_MAX_CTAS) &&
            min > max)
            return dt_error_set(err, "%s.min_ctas is %d, above %s.max_ctas %d: expected a range",
                                dt_comm_axis_words[i], min, dt_comm_axis_words[i], max);
    }
    return 0;
}

/* ---- As text ------------------------------------------------------------------ */

/* One "key=value"; seen: the fields of each axis that this text named before. */
static int parse_pair(struct dt_comm_configs *configs, unsigned seen[DT_COMM_AXES], char *pair,
                      struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char *equals = strchr(pair, '=');
    enum dt_comm_axis axis;
    enum dt_comm_field field;

    if (equals == NULL)
        return dt_error_set(err, "'%s' has no '=': expected key=value", dt_parse_shown(shown, pair));
    *equals = '\0';
    pair = dt_parse_trim(pair, BLANKS);
    if (dt_comm_config_find(&axis, &field, pair, err) != 0)
        return -1;
    if ((seen[axis] & 1u << field) != 0)
        return dt_error_set(err, "%s is given twice: keep one of the two", pair);
    seen[axis] |= 1u << field;
    return dt_comm_configs_set(configs, axis, field, dt_parse_trim(equals + 1, BLANKS), err);
}

static int parse_pairs(struct dt_comm_configs *configs, char *text, struct dtrain_error *err)
{
    unsigned seen[DT_COMM_AXES] = {0};
    enum dt_comm_axis axis;

    while (text != NULL) {
        char *pair = dt_parse_trim(strsep(&text, SEPARATORS), BLANKS);

        if (*pair != '\0' && parse_pair(configs, seen, pair, err) != 0)
            return -1;
    }
    return dt_comm_configs_check(configs, &axis, err);
}

int dt_comm_configs_parse(struct dt_comm_configs *configs, const char *text, const char *what,
                          struct dtrain_error *err)
{
    struct dt_comm_configs changed = *configs;
    char copy[DT_COMM_CONFIG_TEXT_MAX];
    size_t length = strnlen(text, sizeof(copy));

    if (length >= sizeof(copy))
        return dt_error_set(err, "%s has %zu bytes or more: expected at most %zu", what, length,
                            sizeof(copy) - 1);
    memcpy(copy, text, length + 1);
    if (parse_pairs(&changed, copy, err) != 0)
        return dt_error_prefix(err, "%s", what);
    *configs = changed;
    return 0;
}

static void value_text(char text[DT_COMM_NET_NAME_MAX], const struct dt_comm_config *config,
                       enum dt_comm_field field)
{
    if (field == DT_COMM_NET_NAME)
        snprintf(text, DT_COMM_NET_NAME_MAX, "%s", config->net_name);
    else if (field == DT_COMM_CTA_POLICY)
        snprintf(text, DT_COMM_NET_NAME_MAX, "%s", policy_words[config->values[field]]);
    else
        snprintf(text, DT_COMM_NET_NAME_MAX, "%d", config->values[field]);
}

void dt_comm_configs_encode(char text[DT_COMM_CONFIG_TEXT_MAX], const struct dt_comm_configs *configs)
{
    size_t used = 0;

    text[0] = '\0';
    for (int axis = 0; axis < DT_COMM_AXES; axis++) {
        for (int field = 0; field < DT_COMM_FIELDS; field++) {
            char value[DT_COMM_NET_NAME_MAX];

            if (!dt_comm_config_has(&configs->of[axis], (enum dt_comm_field)field))
                continue;
            value_text(value, &configs->of[axis], (enum dt_comm_field)field);
            used += (size_t)snprintf(text + used, DT_COMM_CONFIG_TEXT_MAX - used, "%s%s.%s=%s",
                                     used > 0 ? "," : "", dt_comm_axis_words[axis], rows[field].name, value);
        }
    }
}
