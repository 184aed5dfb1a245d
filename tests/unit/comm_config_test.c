#include "core/comm_config.h"

#include "tap.h"

#define SITE "all.min_ctas=2,tp.cga_cluster_size=4"

static const struct {
    const char *text;
    const char *words; /* of the error; NULL: good */
    const char *encoded;
} rows[] = {
    {"", NULL, SITE},
    {" , ;; ", NULL, SITE},
    {"tp.cga_cluster_size=0", NULL, "all.min_ctas=2,tp.cga_cluster_size=0"},
    {" dp.max_ctas = 8 ; tp.net_name=IB", NULL, SITE ",tp.net_name=IB,dp.max_ctas=8"},
    {"edp.cta_policy=efficiency,etp.nvls_ctas=64", NULL, SITE ",etp.nvls_ctas=64,edp.cta_policy=efficiency"},
    {"all.split_share=1;all.shrink_share=0,all.mem_alloc=1,all.traffic_class=255", NULL,
     "all.min_ctas=2,all.split_share=1,all.traffic_class=255,all.shrink_share=0,all.mem_alloc=1,"
     "tp.cga_cluster_size=4"},
    {"pp.n_channels_per_net_peer=1,cp.collnet_enable=0,ep.nvlink_centric_sched=1", NULL,
     SITE ",cp.collnet_enable=0,ep.nvlink_centric_sched=1,pp.n_channels_per_net_peer=1"},
    {"tp.min_ctas=8,tp.max_ctas=8", NULL, "all.min_ctas=2,tp.cga_cluster_size=4,tp.min_ctas=8,tp.max_ctas=8"},
    {"max_ctas=8", "X: 'max_ctas' is no key: expected AXIS.FIELD, for instance tp.max_ctas", NULL},
    {"tp.max_ctas", "X: 'tp.max_ctas' has no '=': expected key=value", NULL},
    {"xp.max_ctas=8", "X: axis: 'xp' is not known: expected all, tp, cp, ep, dp, pp, etp or edp", NULL},
    {"tp.max_cta=8", "X: tp: 'max_cta' is not known: expected cga_cluster_size, min_ctas,", NULL},
    {"tp.blocking=1", "X: tp: 'blocking' is not known", NULL},
    {"tp.comm_name=x", "X: tp: 'comm_name' is not known", NULL},
    {"tp.mem_alloc=1", "X: tp.mem_alloc: memory is not an axis's: expected all.mem_alloc", NULL},
    {"dp.max_ctas=8,dp.max_ctas=8", "X: dp.max_ctas is given twice: keep one of the two", NULL},
    {"dp.max_ctas=0", "X: dp.max_ctas: '0' is too small: expected a number from 1 to 64", NULL},
    {"dp.max_ctas=65", "X: dp.max_ctas: '65' is too large", NULL},
    {"dp.max_ctas=", "X: dp.max_ctas: ", NULL},
    {"tp.cga_cluster_size=9", "expected a number from 0 to 8", NULL},
    {"tp.cta_policy=fast", "X: tp.cta_policy: 'fast' is not known: expected default, efficiency or zero",
     NULL},
    {"tp.net_name=a b", "X: tp.net_name: 'a b' names no network module", NULL},
    {"tp.net_name=a_name_of_thirty_two_characters_", "names no network module", NULL},
    {"tp.max_ctas=1", "X: tp.min_ctas is 2, above tp.max_ctas 1: expected a range", NULL},
    {"tp.split_share=\x1b[31m", "'?[31m'", NULL},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b=1",
     "is no key", NULL},
};

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_comm_configs configs = {0}, before;
        struct dtrain_error err = {""};
        char text[DT_COMM_CONFIG_TEXT_MAX];
        int rc = dt_comm_configs_parse(&configs, SITE, "site", &err);

        before = configs;
        rc += dt_comm_configs_parse(&configs, rows[i].text, "X", &err);
        dt_comm_configs_encode(text, &configs);
        if (rows[i].words == NULL) {
            if (!tap_ok(rc == 0 && strcmp(text, rows[i].encoded) == 0, "'%s' is read and kept", rows[i].text))
                printf("# %s%s\n", text, err.text);
        } else if (tap_ok(rc == -1 && memcmp(&configs, &before, sizeof(configs)) == 0,
                          "'%s' changes nothing", rows[i].text)) {
            tap_holds(err.text, rows[i].words, "... and the error says why");
        }
    }
}

static void test_long(void)
{
    static char text[DT_COMM_CONFIG_TEXT_MAX + 1];
    struct dt_comm_configs configs = {0};
    struct dtrain_error err;

    memset(text, ',', sizeof(text) - 1);
    tap_ok(dt_comm_configs_parse(&configs, text, "X", &err) == -1, "a text that is too long");
    tap_holds(err.text, "X has 4096 bytes or more: expected at most 4095", "... and the error says why");
    text[DT_COMM_CONFIG_TEXT_MAX - 1] = '\0';
    tap_ok(dt_comm_configs_parse(&configs, text, "X", &err) == 0, "the longest");
}

/* Every field of every axis at its longest is encoded whole, and read again as it was. */
static void test_all(void)
{
    size_t count;
    const struct dt_comm_field_row *fields = dt_comm_field_rows(&count);
    struct dt_comm_configs configs = {0}, again = {0};
    char text[DT_COMM_CONFIG_TEXT_MAX], value[DT_COMM_NET_NAME_MAX];
    int rc = 0;

    for (int axis = 0; axis < DT_COMM_AXES; axis++) {
        for (size_t field = 0; field < count; field++) {
            if (field == DT_COMM_MEM_ALLOC && axis != DT_COMM_ALL)
                continue;
            snprintf(value, sizeof(value), "%u", fields[field].max);
            if (field == DT_COMM_NET_NAME)
                snprintf(value, sizeof(value), "a_name_of_thirty_one_characters");
            if (field == DT_COMM_CTA_POLICY)
                snprintf(value, sizeof(value), "efficiency");
            rc |= dt_comm_configs_set(&configs, (enum dt_comm_axis)axis, (enum dt_comm_field)field, value,
                                      NULL);
        }
    }
    dt_comm_configs_encode(text, &configs);
    tap_ok(rc == 0 && dt_comm_configs_parse(&again, text, "X", NULL) == 0, "all fields of all axes");
    tap_ok(memcmp(&configs, &again, sizeof(configs)) == 0, "... come back as they were");
}

static void test_of(void)
{
    struct dt_comm_configs configs = {0};
    struct dt_comm_config tp, dp;

    dt_comm_configs_parse(&configs, "all.net_name=IB,all.max_ctas=16,tp.max_ctas=8,tp.net_name=Socket", "X",
                          NULL);
    tp = dt_comm_config_of(&configs, DT_COMM_TP);
    dp = dt_comm_config_of(&configs, DT_COMM_DP);
    tap_ok(tp.values[DT_COMM_MAX_CTAS] == 8 && strcmp(tp.net_name, "Socket") == 0,
           "an axis's own values win");
    tap_ok(dp.values[DT_COMM_MAX_CTAS] == 16 && strcmp(dp.net_name, "IB") == 0,
           "those for all hold elsewhere");
    tap_ok(!dt_comm_config_has(&dp, DT_COMM_MIN_CTAS), "what nobody set is not set");
}

int main(void)
{
    test_rows();
    test_long();
    test_all();
    test_of();
    return tap_done();
}
