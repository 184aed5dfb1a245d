/* Lists of visible devices: read, permuted, never grown. */
#include "topo/visible.h"

#include <stdlib.h>

#include "tap.h"

#define OWN_MAX 8

static const struct good {
    const char *text;
    uint32_t count;
    uint32_t own[OWN_MAX];
    uint32_t own_count;
    const char *expected;
} good[] = {
    {"0", 1, {0}, 0, "0"},
    {"0,1,2,3", 4, {0}, 0, "0,1,2,3"},
    {"2,3", 2, {1, 0}, 2, "3,2"},
    {"4,5,6,7", 4, {3}, 1, "7,4,5,6"},
    {"4,5,6,7", 4, {2, 0, 3, 1}, 4, "6,4,7,5"},
    {"GPU-8f2a1b3c-0000-1111-2222-333344445555,GPU-1",
     2,
     {1, 0},
     2,
     "GPU-1,GPU-8f2a1b3c-0000-1111-2222-333344445555"},
    {"MIG-GPU-8f2a/1/0,MIG-5c89", 2, {1}, 1, "MIG-5c89,MIG-GPU-8f2a/1/0"},
    {"0.0,0.1", 2, {1}, 1, "0.1,0.0"},
    {"", 0, {0}, 0, ""},
    {"NoDevFiles", 0, {0}, 0, ""},
};

static const struct bad {
    const char *text, *words;
} bad[] = {
    {",", "expected indices or UUIDs"},
    {"0,", "expected indices or UUIDs"},
    {"0,,1", "expected indices or UUIDs"},
    {"0 ,1", "'0 ,1' does not begin with a device"},
    {"0;rm", "does not begin with a device"},
    {"0\n1", "'0?1' does not begin with a device"},
    {"0,1,0", "device 0 stands in the list twice"},
    {"$(id)", "does not begin with a device"},
};

static const struct bad_own {
    uint32_t own[OWN_MAX];
    uint32_t own_count;
    const char *words;
} bad_own[] = {
    {{2}, 1, "device 2 of local rank 0 is not in the list: expected each of 0 to 1"},
    {{1, 1}, 2, "device 1 of local rank 1 is another's too"},
    {{0, 1, 0}, 3, "device 0 of local rank 2 is another's too"},
};

static char formatted[DT_VISIBLE_TEXT_MAX];
static struct dt_visible visible;

static void test_good(const struct good *row)
{
    struct dtrain_error err = {""};
    int rc = dt_visible_parse(&visible, row->text, "CUDA_VISIBLE_DEVICES", &err);

    tap_ok(rc == 0 && visible.count == row->count, "reads \"%s\"", row->text);
    rc = dt_visible_format(formatted, &visible, row->own_count ? row->own : NULL, row->own_count, &err);
    if (!tap_ok(rc == 0 && strcmp(formatted, row->expected) == 0, "\"%s\" becomes \"%s\"", row->text,
                row->expected))
        printf("# got \"%s\" (%s)\n", formatted, err.text);
}

static void test_refused(const char *text, const char *words, const char *name)
{
    struct dtrain_error err = {""};

    tap_ok(dt_visible_parse(&visible, text, "ROCR_VISIBLE_DEVICES", &err) == -1, "refuses %s", name);
    tap_holds(err.text, words, "and says why");
    tap_ok(strncmp(err.text, "ROCR_VISIBLE_DEVICES", 20) == 0, "and of which variable");
}

static void test_bad_own(const struct bad_own *row)
{
    struct dtrain_error err = {""};

    dt_visible_parse(&visible, "4,5", "CUDA_VISIBLE_DEVICES", NULL);
    tap_ok(dt_visible_format(formatted, &visible, row->own, row->own_count, &err) == -1, "refuses a choice");
    tap_holds(err.text, row->words, "and says why");
}

/* count entries of `width` characters, all different. */
static char *make_list(uint32_t count, uint32_t width)
{
    char *text = calloc(count, width + 2);

    for (uint32_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%0*u", i ? "," : "", (int)width, i);
    return text;
}

static void test_bounds(void)
{
    char *most = make_list(DT_VISIBLE_ENTRIES_MAX, 60), *more = make_list(DT_VISIBLE_ENTRIES_MAX + 1, 3);
    char *wide = make_list(1, DT_VISIBLE_ENTRY_MAX), *wider = make_list(1, DT_VISIBLE_ENTRY_MAX + 1);
    char *longest = make_list(200, 100);

    tap_ok(dt_visible_parse(&visible, most, "X", NULL) == 0 && visible.count == DT_VISIBLE_ENTRIES_MAX,
           "the most entries");
    tap_ok(dt_visible_format(formatted, &visible, NULL, 0, NULL) == 0 && strcmp(formatted, most) == 0,
           "and back");
    tap_ok(dt_visible_parse(&visible, wide, "X", NULL) == 0, "the widest entry");
    test_refused(more, "more than 256 devices", "one entry too many");
    test_refused(wider, "does not begin with a device", "an entry too wide");
    test_refused(longest, "more than 16383 bytes", "a list too long");
    free(most);
    free(more);
    free(wide);
    free(wider);
    free(longest);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        test_good(&good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        test_refused(bad[i].text, bad[i].words, "a list");
    for (size_t i = 0; i < sizeof(bad_own) / sizeof(bad_own[0]); i++)
        test_bad_own(&bad_own[i]);
    test_bounds();
    return tap_done();
}
