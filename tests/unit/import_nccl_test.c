/* NCCL's and RCCL's XML: what small texts say, and what is refused. */
#include <stdlib.h>

#include "import_golden.h"

#define SYSTEM(body) "<system version=\"1\">" body "</system>"
#define CPU(numa, affinity, body) "<cpu numaid=\"" numa "\" affinity=\"" affinity "\">" body "</cpu>"
#define PCI(busid, class, body) "<pci busid=\"" busid "\" class=\"" class "\">" body "</pci>"
#define GPU(body) "<gpu dev=\"0\" sm=\"80\">" body "</gpu>"
#define NVLINK(target, count, class) \
    "<nvlink target=\"" target "\" count=\"" count "\" tclass=\"" class "\"/>"
#define NVSWITCH(target) NVLINK(target, "6", "0x068000")
#define NET(name) "<nic><net name=\"" name "\" dev=\"0\"/></nic>"

static const struct import_golden texts[] = {
    {"NVLinks to each other, nets by their names",
     "<?xml version=\"1.0\"?>\n<!-- dumped -->\n" SYSTEM(
         CPU("0", "0000000f",
             PCI("0000:0A:00.0", "0x060400",
                 PCI("0000:0C:00.0", "0x030200", GPU(NVLINK("0000:0B:00.0", "4", "0x030200")))
                     PCI("0000:0B:00.0", "0x030200", GPU(NVLINK("0000:0c:00.0", "4", "0x030200"))))
                 PCI("0000:0d:00.0", "0x020700", NET("mlx5_0") NET("mlx5_0")))
             CPU("1", "000000f0", PCI("0000:0e:00.0", "0x020000", NET("mlx5_1")))),
     "0000:0b:00.0 nvidia numa=0 cpus=0-3 nics=mlx5_0:NUMA node\n"
     "0000:0c:00.0 nvidia numa=0 cpus=0-3 nics=mlx5_0:NUMA node\n",
     "X NV4\nNV4 X\n", "mlx5_0", "mlx5_1"},
    {"NVLinks into switches that are seen, and that are not",
     SYSTEM(CPU("0", "3",
                PCI("0000:01:00.0", "0x030200", GPU(NVSWITCH("0000:f0:00.0") NVSWITCH("0000:f1:00.0")))
                PCI("0000:02:00.0", "0x030200", GPU(NVLINK("fffffff:ffff:ff", "12", "0x068000"))))),
     "0000:01:00.0 nvidia numa=0 cpus=0-1\n0000:02:00.0 nvidia numa=0 cpus=0-1\n",
     "X SW12\nSW12 X\n", "", ""},
    {"switches behind switches",
     SYSTEM(CPU("0", "3",
                PCI("0000:01:00.0", "0x060400",
                    PCI("0000:02:00.0", "0x060400", PCI("0000:03:00.0", "0x030200", GPU("")))
                        PCI("0000:04:00.0", "0x060400", PCI("0000:05:00.0", "0x020700", NET("mlx5_0")))))),
     "0000:03:00.0 nvidia numa=0 cpus=0-1 nics=mlx5_0:switches\n", "X\n", "mlx5_0", ""},
    {"no NUMA node known, a net without a function, a server's graphics card",
     SYSTEM("<cpu numaid=\"-1\" arch=\"x86_64\">"
            "<pci busid=\"0000:01:00.0\" class=\"0x030000\"><gpu dev=\"0\"/></pci>"
            "<pci busid=\"0000:02:00.0\" class=\"0x030000\" vendor=\"0x1a03\"/>"
            NET("mlx5_0") NET("eth0") "</cpu>"),
     "0000:01:00.0 nvidia numa=-1 cpus=- nics=mlx5_0:NUMA node\n", "X\n", "mlx5_0", "eth0"},
    {"several GPUs behind one function, xGMI",
     SYSTEM(CPU("2", "3",
                PCI("0000:01:00.0", "0x038000",
                    "<gpu dev=\"0\" gcn=\"942\"/><gpu dev=\"1\" gcn=\"942\">"
                    "<xgmi target=\"0000:02:00.0\" count=\"1\" tclass=\"0x038000\"/></gpu>")
                    PCI("0000:02:00.0", "0x038000", "<gpu dev=\"2\" gcn=\"942\"/>"))),
     "0000:01:00.0 amd numa=2 part=0 cpus=0-1\n0000:01:00.0 amd numa=2 part=1 cpus=0-1\n"
     "0000:02:00.0 amd numa=2 cpus=0-1\n",
     "X PIX NODE\nPIX X XG1\nNODE XG1 X\n", "", ""},
};

static const struct import_refusal bad[] = {
    {"an XML that is cut off", "<system version=\"1\"><cpu numaid=\"0\" affinity=\"3\">",
     "line 1: no element found"},
    {"tags that cross", "<system><cpu></system></cpu>", "mismatched tag"},
    {"text behind the end", SYSTEM("") "x", "junk after document element"},
    {"a NUL", "<system \x01></system>", "not well-formed"},
    {"entities", "<!DOCTYPE system [<!ENTITY a \"b\">]><system>&a;</system>", "a DOCTYPE: expected none"},
    {"entities from outside", "<!DOCTYPE system SYSTEM \"file:///etc/passwd\"><system/>",
     "a DOCTYPE: expected none"},
    {"no GPU", SYSTEM(""), "no GPU: expected <gpu>"},
    {"a function without an address", SYSTEM(CPU("0", "3", "<pci class=\"0x030200\"/>")),
     "<pci> without busid"},
    {"an address that is none", SYSTEM(CPU("0", "3", PCI("0000:zz:00.0", "0x030200", ""))),
     "'0000:zz:00.0' is not a PCI address"},
    {"an address too long", SYSTEM(CPU("0", "3", PCI("0000:00:00.0000000000", "0x030200", ""))),
     "is not a PCI address"},
    {"a class that is no number", SYSTEM(CPU("0", "3", PCI("0000:01:00.0", "display", ""))),
     "class 'display' is no hexadecimal number"},
    {"the same GPU twice",
     SYSTEM(CPU("0", "3", PCI("0000:01:00.0", "0x030200", "") PCI("0000:01:00.0", "0x030200", ""))),
     "are both 0000:01:00.0"},
    {"a function outside of a CPU", SYSTEM(PCI("0000:01:00.0", "0x030200", "")),
     "<pci> outside of any <cpu>"},
    {"a GPU outside of a function", SYSTEM(CPU("0", "3", GPU(""))), "<gpu> outside of any <pci>"},
    {"a link to nowhere", SYSTEM(CPU("0", "3", PCI("0000:01:00.0", "0x0302", GPU(NVLINK("x", "1", "0x0302"))))),
     "'x' is not a PCI address"},
    {"a link outside of a GPU", SYSTEM(CPU("0", "3", NVLINK("0000:01:00.0", "1", "0x030200"))),
     "a link outside"},
    {"no links",
     SYSTEM(CPU("0", "3", PCI("0000:01:00.0", "0x0302", GPU(NVLINK("0000:02:00.0", "0", "0x0302"))))),
     "count: '0' is too small"},
    {"a NUMA node twice", SYSTEM(CPU("0", "3", "") CPU("0", "3", "")), "NUMA node 0 a second time"},
    {"a NUMA node that is none", SYSTEM(CPU("x", "3", "")), "numaid: 'x' is not a number"},
    {"a mask that is none", SYSTEM(CPU("0", "3,,", "")), "'3,,' is not a mask of CPUs"},
    {"a mask with long words", SYSTEM(CPU("0", "123456789", "")), "is not a mask of CPUs"},
    {"a net without name", SYSTEM(CPU("0", "3", "<nic><net/></nic>")), "<net> without name"},
    {"a system inside", SYSTEM(CPU("0", "3", SYSTEM(""))), "<system> inside another element"},
};

/* The text between head and tail, that often. */
static void check_many(const char *head, const char *body, const char *tail, unsigned count,
                       const char *words, const char *name)
{
    size_t size = strlen(head) + count * (strlen(body) + 16) + strlen(tail) + 1;
    char *text = malloc(size);
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    size_t used;

    if (text == NULL)
        abort();
    used = (size_t)sprintf(text, "%s", head);
    for (unsigned i = 0; i < count; i++) {
        strcpy(text + used, body);
        used += strlen(body);
    }
    used += (size_t)sprintf(text + used, "%s", tail);
    tap_ok(dt_import_text(&topo, "nccl", text, used, "text", &err) == -1 && topo == NULL, "%s: refused",
           name);
    tap_holds(err.text, words, name);
    free(text);
}

static void test_sizes(void)
{
    check_many("<system>", "<a>", "", 100000, "elements nest deeper than 32", "deep");
    check_many("<system><cpu numaid=\"0\">", "<pci busid=\"0000:01:00.0\"/>", "</cpu></system>", 2000,
               "more than 1024 <pci>", "many functions");
    check_many("<system><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\">", "<gpu/>", "</pci></cpu></system>",
               100, "more than 64 GPUs", "many GPUs");
    check_many("<system><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\">", "<gpu/>", "</pci></cpu></system>",
               1000, "more than 128 GPUs and NICs", "far too many GPUs");
    check_many("<system><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\"><gpu>",
               "<nvlink target=\"0000:02:00.0\" count=\"1\"/>", "</gpu></pci></cpu></system>", 5000,
               "more than 4096 links", "many links");
}

int main(void)
{
    import_golden_check_texts(texts, IMPORT_GOLDEN_COUNT(texts));
    import_golden_check_refusals(bad, IMPORT_GOLDEN_COUNT(bad));
    test_sizes();
    return tap_done();
}
