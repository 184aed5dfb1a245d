/* What is to be bound: the option's words, and the variable that takes them to the nodes. */
#include "core/bind_choice.h"

#include "core/conf.h"
#include "tap.h"

static const struct {
    const char *value;
    int items; /* -1: refused */
    bool is_verbose;
    const char *words;
} rows[] = {
    {"gpu,cpu,nic,mem", 15, false, ""},
    {"mem,gpu", 9, false, ""},
    {"none", 0, false, ""},
    {"verbose", 15, true, ""},
    {"none,verbose", 0, true, ""},
    {"cpu,verbose", 2, true, ""},
    {"", -1, false, "--dtrain-bind: ''"},
    {NULL, -1, false, "--dtrain-bind: ''"},
    {"gpu,", -1, false, "--dtrain-bind: ''"},
    {"gpus", -1, false, "--dtrain-bind: 'gpus'"},
    {"gpu,gpu", -1, false, "gpu stands there twice"},
    {"gpu,none", -1, false, "says none and something"},
    {"gpu cpu", -1, false, "--dtrain-bind: 'gpu cpu'"},
    {"gpu,cpu,nic,mem,verbose,gpu,cpu,nic,mem,verbose,gpu,cpu,nic,mem,verbose,gpu,cpu,nic,mem,verbose,gpu,"
     "cpu,nic,mem,verbose,gpu,cpu,nic,mem", -1, false, "is not understood: expected some of gpu,cpu,nic,mem"},
};

static void test_items(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {.text = ""};
        unsigned items = 99;
        bool is_verbose = false;
        int rc = dt_bind_choice_parse_items(&items, &is_verbose, rows[i].value, "--dtrain-bind", &err);

        tap_ok(rc == (rows[i].items < 0 ? -1 : 0) &&
                   (rc || (items == (unsigned)rows[i].items && is_verbose == rows[i].is_verbose)),
               "items '%s': %d", rows[i].value ? rows[i].value : "-", rc);
        tap_holds(rc ? err.text : "", rows[i].words, "and what is said");
    }
}

static void test_round(void)
{
    for (unsigned n = 0; n < 16 * 16 * 2 * 3; n++) {
        struct dt_bind_choice choice = {.items = n % 16, .kept = n / 16 % 16,
                                        .visible = (enum dt_visible_mode)(n / 256 % 2),
                                        .say = (enum dt_bind_say)(n / 512)};
        struct dt_bind_choice back = {0};
        char text[DT_BIND_CHOICE_MAX];

        dt_bind_choice_encode(text, &choice);
        if (dt_bind_choice_decode(&back, text, NULL) || back.items != choice.items ||
            back.kept != choice.kept || back.visible != choice.visible || back.say != choice.say) {
            tap_ok(false, "%s comes back", text);
            return;
        }
    }
    tap_ok(true, "every choice comes back");
}

static void test_hostile(void)
{
    static const char *const texts[] = {"", ";", ";;;", "gpu", "gpu;none;all", "gpu;none;all;nothing;",
                                        "gpu;none;some;nothing", "gpu;none;all;loud", "gpu;x;all;nothing",
                                        "\xff;none;all;nothing"};
    char huge[4096];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct dt_bind_choice choice;
        struct dtrain_error err = {.text = ""};

        tap_ok(dt_bind_choice_decode(&choice, texts[i], &err) == -1, "refused: text %zu", i);
        tap_holds(err.text, "SLURM_DTRAIN_BIND", "and named");
    }
    memset(huge, ';', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    tap_ok(dt_bind_choice_decode(&(struct dt_bind_choice){0}, huge, NULL) == -1, "refused: a huge one");
}

static void test_conf(void)
{
    static const char text[] = "bind = gpu,nic\nvisible = own\n";
    struct dt_conf conf;
    struct dtrain_error err = {.text = ""};

    dt_conf_defaults(&conf);
    tap_ok(conf.bind_items == DT_BIND_ITEMS_ALL && !conf.is_bind_verbose && conf.visible == DT_VISIBLE_ALL,
           "dtrain.conf: the defaults");
    tap_ok(dt_conf_parse(&conf, text, sizeof(text) - 1, "f", &err) == 0 && conf.bind_items == 5 &&
               conf.visible == DT_VISIBLE_OWN,
           "dtrain.conf: bind and visible");
    tap_ok(dt_conf_parse(&conf, "bind = all\n", 11, "f", &err) == -1, "dtrain.conf: a bind that is none");
    tap_holds(err.text, "f:1: bind: 'all'", "names it");
    tap_ok(dt_conf_parse(&conf, "visible = none\n", 15, "f", &err) == -1,
           "dtrain.conf: a visible that is none");
    tap_holds(err.text, "f:1: visible: 'none'", "names it");
}

int main(void)
{
    test_items();
    test_round();
    test_hostile();
    test_conf();
    return tap_done();
}
