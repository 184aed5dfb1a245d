/* Buffered output: nothing is cut or lost, JSON strings are valid, a failed write is remembered. */
#include <errno.h>
#include <stdlib.h>

#include "core/out.h"
#include "tap.h"

#define SINK_MAX (1u << 20)

/* What was written; after `limit` bytes every write fails with ENOSPC. */
struct sink {
    char *text;
    size_t used, limit;
    int calls;
};

static int sink_write(void *context, const char *text, size_t n)
{
    struct sink *sink = context;

    sink->calls++;
    if (sink->used + n > sink->limit) {
        errno = ENOSPC;
        return -1;
    }
    memcpy(sink->text + sink->used, text, n);
    sink->used += n;
    sink->text[sink->used] = '\0';
    return 0;
}

static void start(struct dt_out *out, struct sink *sink, size_t limit)
{
    sink->used = 0;
    sink->calls = 0;
    sink->limit = limit;
    sink->text[0] = '\0';
    dt_out_init(out, sink_write, sink);
}

static void test_numbers(struct dt_out *out, struct sink *sink)
{
    static const struct {
        uint64_t value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {9, "9"},
        {10, "10"},
        {1048576, "1048576"},
        {9999999999999999999u, "9999999999999999999"},
        {10000000000000000000u, "10000000000000000000"},
        {UINT64_MAX, "18446744073709551615"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        start(out, sink, SINK_MAX);
        dt_out_u64(out, rows[i].value);
        tap_ok(dt_out_flush(out, NULL) == 0 && strcmp(sink->text, rows[i].text) == 0, "number %s",
               rows[i].text);
    }
}

static void test_json(struct dt_out *out, struct sink *sink)
{
    static const struct {
        const char *name, *text, *json;
    } rows[] = {
        {"empty", "", "\"\""},
        {"plain", "n1", "\"n1\""},
        {"quote and backslash", "a\"b\\c", "\"a\\\"b\\\\c\""},
        {"control characters", "a\n\x01\x1f", "\"a\\u000a\\u0001\\u001f\""},
        {"two, three and four bytes", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
         "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"the ends of the ranges", "\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF",
         "\"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\""},
        {"a stray tail byte", "a\x80z", "\"a\xEF\xBF\xBDz\""},
        {"a sequence that ends early", "\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"overlong", "\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"overlong, three bytes", "\xE0\x80\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"a surrogate", "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"past the last code point", "\xF4\x90\x80\x80",
         "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        start(out, sink, SINK_MAX);
        dt_out_json(out, rows[i].text);
        if (!tap_ok(dt_out_flush(out, NULL) == 0 && strcmp(sink->text, rows[i].json) == 0, "JSON: %s",
                    rows[i].name))
            printf("# got %s\n", sink->text);
    }
}

/* Pieces of every size around the buffer's end, numbers among them. */
static void test_long(struct dt_out *out, struct sink *sink)
{
    char *text = malloc(3 * DT_OUT_BUFFER + 1), *expected = malloc(SINK_MAX);
    size_t used = 0;

    memset(text, 'x', 3 * DT_OUT_BUFFER);
    text[3 * DT_OUT_BUFFER] = '\0';
    start(out, sink, SINK_MAX);
    dt_out_text(out, text);
    dt_out_printf(out, "%s", text);
    used += (size_t)sprintf(expected, "%s%s", text, text);
    for (unsigned i = 0; i < 9000; i++) {
        dt_out_u64(out, 1234567890123u + i);
        dt_out_text(out, ",");
        dt_out_printf(out, "%u;", i);
        used += (size_t)sprintf(expected + used, "%llu,%u;", 1234567890123ull + i, i);
    }
    tap_ok(dt_out_flush(out, NULL) == 0 && sink->used == used && memcmp(sink->text, expected, used) == 0,
           "text longer than the buffer arrives whole");
    free(expected);
    free(text);
}

static void test_failure(struct dt_out *out, struct sink *sink)
{
    struct dtrain_error err;
    int calls;

    start(out, sink, DT_OUT_BUFFER);
    for (unsigned i = 0; i < 2 * DT_OUT_BUFFER; i++)
        dt_out_text(out, "y");
    calls = sink->calls;
    tap_ok(calls == 2 && sink->used == DT_OUT_BUFFER, "the write that fails is the last one");
    for (unsigned i = 0; i < DT_OUT_BUFFER; i++) {
        dt_out_u64(out, i);
        dt_out_printf(out, "%u", i);
        dt_out_json(out, "n");
    }
    tap_ok(dt_out_flush(out, &err) == -1 && sink->calls == calls, "later calls do nothing");
    tap_holds(err.text, "cannot write the output: No space left on device", "the reason stays");

    start(out, sink, 1);
    dt_out_text(out, "yy");
    tap_ok(dt_out_flush(out, &err) == -1, "what fails in the flush is reported");
}

int main(void)
{
    struct dt_out *out = malloc(sizeof(*out));
    struct sink sink = {.text = malloc(SINK_MAX + 1)};

    test_numbers(out, &sink);
    test_json(out, &sink);
    test_long(out, &sink);
    test_failure(out, &sink);
    free(sink.text);
    free(out);
    return tap_done();
}
