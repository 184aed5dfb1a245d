/* Named machines: every GPU, path and NIC of each; none without a golden. */
#include "import_golden.h"
#include "shared_file.h"

static const struct import_golden machines[] = {
    {"dgx-a100", NULL,
     "0000:07:00.0 nvidia numa=3 socket=0 cpus=48-63,176-191 nics=mlx5_0,mlx5_1:switches\n"
     "0000:0f:00.0 nvidia numa=3 socket=0 cpus=48-63,176-191 nics=mlx5_0,mlx5_1:switches\n"
     "0000:47:00.0 nvidia numa=1 socket=0 cpus=16-31,144-159 nics=mlx5_2,mlx5_3:switches\n"
     "0000:4e:00.0 nvidia numa=1 socket=0 cpus=16-31,144-159 nics=mlx5_2,mlx5_3:switches\n"
     "0000:87:00.0 nvidia numa=7 socket=1 cpus=112-127,240-255 nics=mlx5_6,mlx5_7:switches\n"
     "0000:90:00.0 nvidia numa=7 socket=1 cpus=112-127,240-255 nics=mlx5_6,mlx5_7:switches\n"
     "0000:b7:00.0 nvidia numa=5 socket=1 cpus=80-95,208-223 nics=mlx5_8,mlx5_9:switches\n"
     "0000:bd:00.0 nvidia numa=5 socket=1 cpus=80-95,208-223 nics=mlx5_8,mlx5_9:switches\n",
     EIGHT_BY("SW12"),
     "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_6 mlx5_7 mlx5_8 mlx5_9", "mlx5_4 mlx5_5 mlx5_10 mlx5_11"},
    {"dgx-h100", NULL,
     "0000:1b:00.0 nvidia numa=0 socket=0 cpus=0-55,112-167 nics=mlx5_0:switches\n"
     "0000:43:00.0 nvidia numa=0 socket=0 cpus=0-55,112-167 nics=mlx5_3:switches\n"
     "0000:52:00.0 nvidia numa=0 socket=0 cpus=0-55,112-167 nics=mlx5_4:switches\n"
     "0000:61:00.0 nvidia numa=0 socket=0 cpus=0-55,112-167 nics=mlx5_5:switches\n"
     "0000:9d:00.0 nvidia numa=1 socket=1 cpus=56-111,168-223 nics=mlx5_6:switches\n"
     "0000:c3:00.0 nvidia numa=1 socket=1 cpus=56-111,168-223 nics=mlx5_9:switches\n"
     "0000:d1:00.0 nvidia numa=1 socket=1 cpus=56-111,168-223 nics=mlx5_10:switches\n"
     "0000:df:00.0 nvidia numa=1 socket=1 cpus=56-111,168-223 nics=mlx5_11:switches\n",
     EIGHT_BY("SW18"),
     "mlx5_0 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_9 mlx5_10 mlx5_11", "mlx5_1 mlx5_2 mlx5_7 mlx5_8"},
    {"dgx-1v", NULL,
     "0000:06:00.0 nvidia numa=0 socket=0 cpus=0-19,40-59 nics=mlx5_0:switch\n"
     "0000:07:00.0 nvidia numa=0 socket=0 cpus=0-19,40-59 nics=mlx5_0:switch\n"
     "0000:0a:00.0 nvidia numa=0 socket=0 cpus=0-19,40-59 nics=mlx5_1:switch\n"
     "0000:0b:00.0 nvidia numa=0 socket=0 cpus=0-19,40-59 nics=mlx5_1:switch\n"
     "0000:85:00.0 nvidia numa=1 socket=1 cpus=20-39,60-79 nics=mlx5_2:switch\n"
     "0000:86:00.0 nvidia numa=1 socket=1 cpus=20-39,60-79 nics=mlx5_2:switch\n"
     "0000:89:00.0 nvidia numa=1 socket=1 cpus=20-39,60-79 nics=mlx5_3:switch\n"
     "0000:8a:00.0 nvidia numa=1 socket=1 cpus=20-39,60-79 nics=mlx5_3:switch\n",
     "X NV1 NV1 NV2 NV2 SYS SYS SYS\n"
     "NV1 X NV2 NV1 SYS NV2 SYS SYS\n"
     "NV1 NV2 X NV2 SYS SYS NV1 SYS\n"
     "NV2 NV1 NV2 X SYS SYS SYS NV1\n"
     "NV2 SYS SYS SYS X NV1 NV1 NV2\n"
     "SYS NV2 SYS SYS NV1 X NV2 NV1\n"
     "SYS SYS NV1 SYS NV1 NV2 X NV2\n"
     "SYS SYS SYS NV1 NV2 NV1 NV2 X\n",
     "mlx5_0 mlx5_1 mlx5_2 mlx5_3", ""},
    {"dgx-2", NULL,
     "0000:34:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_0:switch\n"
     "0000:36:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_0:switch\n"
     "0000:39:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_1:switch\n"
     "0000:3b:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_1:switch\n"
     "0000:57:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_2:switch\n"
     "0000:59:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_2:switch\n"
     "0000:5c:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_3:switch\n"
     "0000:5e:00.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=mlx5_3:switch\n"
     "0000:b7:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_6:switch\n"
     "0000:b9:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_6:switch\n"
     "0000:bc:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_7:switch\n"
     "0000:be:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_7:switch\n"
     "0000:e0:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_8:switch\n"
     "0000:e2:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_8:switch\n"
     "0000:e5:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_9:switch\n"
     "0000:e7:00.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=mlx5_9:switch\n",
     "X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6 SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X SW6\n"
     "SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 SW6 X\n",
     "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_6 mlx5_7 mlx5_8 mlx5_9", ""},
    {"mi250x", NULL,
     "0000:c1:00.0 amd numa=3 socket=0 package=0 cpus=48-55,112-119 nics=hsi0:NUMA node\n"
     "0000:c6:00.0 amd numa=3 socket=0 package=0 cpus=56-63,120-127 nics=hsi0:bridge\n"
     "0000:c9:00.0 amd numa=1 socket=0 package=1 cpus=16-23,80-87 nics=hsi1:NUMA node\n"
     "0000:ce:00.0 amd numa=1 socket=0 package=1 cpus=24-31,88-95 nics=hsi1:bridge\n"
     "0000:d1:00.0 amd numa=0 socket=0 package=2 cpus=0-7,64-71 nics=hsi2:NUMA node\n"
     "0000:d6:00.0 amd numa=0 socket=0 package=2 cpus=8-15,72-79 nics=hsi2:bridge\n"
     "0000:d9:00.0 amd numa=2 socket=0 package=3 cpus=32-39,96-103 nics=hsi3:NUMA node\n"
     "0000:de:00.0 amd numa=2 socket=0 package=3 cpus=40-47,104-111 nics=hsi3:bridge\n",
     "X XG4 XG1 SOC SOC SOC XG2 SOC\n"
     "XG4 X SOC XG1 SOC XG1 SOC SOC\n"
     "XG1 SOC X XG4 XG2 SOC SOC SOC\n"
     "SOC XG1 XG4 X SOC SOC SOC XG1\n"
     "SOC SOC XG2 SOC X XG4 XG1 SOC\n"
     "SOC XG1 SOC SOC XG4 X SOC XG1\n"
     "XG2 SOC SOC SOC XG1 SOC X XG4\n"
     "SOC SOC SOC XG1 SOC XG1 XG4 X\n",
     "hsi0 hsi1 hsi2 hsi3", ""},
    {"mi300x", NULL,
     "0000:05:00.0 amd numa=0 socket=0 cpus=0-95,192-287 nics=mlx5_0:switch\n"
     "0000:26:00.0 amd numa=0 socket=0 cpus=0-95,192-287 nics=mlx5_1:switch\n"
     "0000:46:00.0 amd numa=0 socket=0 cpus=0-95,192-287 nics=mlx5_2:switch\n"
     "0000:65:00.0 amd numa=0 socket=0 cpus=0-95,192-287 nics=mlx5_3:switch\n"
     "0000:85:00.0 amd numa=1 socket=1 cpus=96-191,288-383 nics=mlx5_4:switch\n"
     "0000:a6:00.0 amd numa=1 socket=1 cpus=96-191,288-383 nics=mlx5_5:switch\n"
     "0000:c6:00.0 amd numa=1 socket=1 cpus=96-191,288-383 nics=mlx5_6:switch\n"
     "0000:e5:00.0 amd numa=1 socket=1 cpus=96-191,288-383 nics=mlx5_7:switch\n",
     EIGHT_BY("XG1"),
     "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7", ""},
    {"mi300a", NULL,
     "0000:02:00.0 amd numa=0 socket=0 cpus=0-23,96-119 nics=hsi0:bridge\n"
     "0001:02:00.0 amd numa=1 socket=1 cpus=24-47,120-143 nics=hsi1:bridge\n"
     "0002:02:00.0 amd numa=2 socket=2 cpus=48-71,144-167 nics=hsi2:bridge\n"
     "0003:02:00.0 amd numa=3 socket=3 cpus=72-95,168-191 nics=hsi3:bridge\n",
     "X XG2 XG2 XG2\n"
     "XG2 X XG2 XG2\n"
     "XG2 XG2 X XG2\n"
     "XG2 XG2 XG2 X\n",
     "hsi0 hsi1 hsi2 hsi3", ""},
    {"p4d", NULL,
     "0000:10:1c.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=rdmap16s27:switch\n"
     "0000:10:1d.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=rdmap16s27:switch\n"
     "0000:20:1c.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=rdmap32s27:switch\n"
     "0000:20:1d.0 nvidia numa=0 socket=0 cpus=0-23,48-71 nics=rdmap32s27:switch\n"
     "0000:90:1c.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=rdmap144s27:switch\n"
     "0000:90:1d.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=rdmap144s27:switch\n"
     "0000:a0:1c.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=rdmap160s27:switch\n"
     "0000:a0:1d.0 nvidia numa=1 socket=1 cpus=24-47,72-95 nics=rdmap160s27:switch\n",
     EIGHT_BY("SW12"),
     "rdmap16s27 rdmap32s27 rdmap144s27 rdmap160s27", ""},
    {"ndv4", NULL,
     "0001:00:00.0 nvidia numa=1 socket=0 cpus=24-47 nics=mlx5_ib0,mlx5_ib1:switch\n"
     "0002:00:00.0 nvidia numa=1 socket=0 cpus=24-47 nics=mlx5_ib0,mlx5_ib1:switch\n"
     "0003:00:00.0 nvidia numa=0 socket=0 cpus=0-23 nics=mlx5_ib2,mlx5_ib3:switch\n"
     "0004:00:00.0 nvidia numa=0 socket=0 cpus=0-23 nics=mlx5_ib2,mlx5_ib3:switch\n"
     "000b:00:00.0 nvidia numa=3 socket=1 cpus=72-95 nics=mlx5_ib4,mlx5_ib5:switch\n"
     "000c:00:00.0 nvidia numa=3 socket=1 cpus=72-95 nics=mlx5_ib4,mlx5_ib5:switch\n"
     "000d:00:00.0 nvidia numa=2 socket=1 cpus=48-71 nics=mlx5_ib6,mlx5_ib7:switch\n"
     "000e:00:00.0 nvidia numa=2 socket=1 cpus=48-71 nics=mlx5_ib6,mlx5_ib7:switch\n",
     EIGHT_BY("SW12"),
     "mlx5_ib0 mlx5_ib1 mlx5_ib2 mlx5_ib3 mlx5_ib4 mlx5_ib5 mlx5_ib6 mlx5_ib7", ""},
    {"gh200", NULL,
     "0009:01:00.0 nvidia numa=0 socket=0 cpus=0-71 nics=hsn0:NUMA node\n"
     "0019:01:00.0 nvidia numa=1 socket=1 cpus=72-143 nics=hsn1:NUMA node\n"
     "0029:01:00.0 nvidia numa=2 socket=2 cpus=144-215 nics=hsn2:NUMA node\n"
     "0039:01:00.0 nvidia numa=3 socket=3 cpus=216-287 nics=hsn3:NUMA node\n",
     "X NV6 NV6 NV6\n"
     "NV6 X NV6 NV6\n"
     "NV6 NV6 X NV6\n"
     "NV6 NV6 NV6 X\n",
     "hsn0 hsn1 hsn2 hsn3", ""},
    {"juwels-booster", NULL,
     "0000:03:00.0 nvidia numa=3 socket=0 cpus=18-23,66-71 nics=mlx5_1:switch\n"
     "0000:44:00.0 nvidia numa=1 socket=0 cpus=6-11,54-59 nics=mlx5_0:switch\n"
     "0000:84:00.0 nvidia numa=7 socket=1 cpus=42-47,90-95 nics=mlx5_3:switch\n"
     "0000:c4:00.0 nvidia numa=5 socket=1 cpus=30-35,78-83 nics=mlx5_2:switch\n",
     "X NV4 NV4 NV4\n"
     "NV4 X NV4 NV4\n"
     "NV4 NV4 X NV4\n"
     "NV4 NV4 NV4 X\n",
     "mlx5_0 mlx5_1 mlx5_2 mlx5_3", ""},
    {"perlmutter", NULL,
     "0000:03:00.0 nvidia numa=3 socket=0 cpus=48-63,112-127 nics=hsn3:NUMA node\n"
     "0000:41:00.0 nvidia numa=2 socket=0 cpus=32-47,96-111 nics=hsn2:NUMA node\n"
     "0000:82:00.0 nvidia numa=1 socket=0 cpus=16-31,80-95 nics=hsn1:NUMA node\n"
     "0000:c1:00.0 nvidia numa=0 socket=0 cpus=0-15,64-79 nics=hsn0:NUMA node\n",
     "X NV4 NV4 NV4\n"
     "NV4 X NV4 NV4\n"
     "NV4 NV4 X NV4\n"
     "NV4 NV4 NV4 X\n",
     "hsn0 hsn1 hsn2 hsn3", ""},
    {"summit", NULL,
     "0004:04:00.0 nvidia numa=0 socket=0 cpus=0-83 nics=mlx5_0,mlx5_1:NUMA node\n"
     "0004:05:00.0 nvidia numa=0 socket=0 cpus=0-83 nics=mlx5_0,mlx5_1:NUMA node\n"
     "0004:06:00.0 nvidia numa=0 socket=0 cpus=0-83 nics=mlx5_0,mlx5_1:NUMA node\n"
     "0035:03:00.0 nvidia numa=8 socket=8 cpus=88-171 nics=mlx5_2,mlx5_3:NUMA node\n"
     "0035:04:00.0 nvidia numa=8 socket=8 cpus=88-171 nics=mlx5_2,mlx5_3:NUMA node\n"
     "0035:05:00.0 nvidia numa=8 socket=8 cpus=88-171 nics=mlx5_2,mlx5_3:NUMA node\n",
     "X NV2 NV2 SYS SYS SYS\n"
     "NV2 X NV2 SYS SYS SYS\n"
     "NV2 NV2 X SYS SYS SYS\n"
     "SYS SYS SYS X NV2 NV2\n"
     "SYS SYS SYS NV2 X NV2\n"
     "SYS SYS SYS NV2 NV2 X\n",
     "mlx5_0 mlx5_1 mlx5_2 mlx5_3", ""},
    {"pcie8", NULL,
     "GPU0 nvidia numa=0 socket=0 cpus=0-23,48-71\n"
     "GPU1 nvidia numa=0 socket=0 cpus=0-23,48-71\n"
     "GPU2 nvidia numa=0 socket=0 cpus=0-23,48-71\n"
     "GPU3 nvidia numa=0 socket=0 cpus=0-23,48-71\n"
     "GPU4 nvidia numa=1 socket=1 cpus=24-47,72-95\n"
     "GPU5 nvidia numa=1 socket=1 cpus=24-47,72-95\n"
     "GPU6 nvidia numa=1 socket=1 cpus=24-47,72-95\n"
     "GPU7 nvidia numa=1 socket=1 cpus=24-47,72-95\n",
     "X PIX NODE NODE SYS SYS SYS SYS\n"
     "PIX X NODE NODE SYS SYS SYS SYS\n"
     "NODE NODE X PIX SYS SYS SYS SYS\n"
     "NODE NODE PIX X SYS SYS SYS SYS\n"
     "SYS SYS SYS SYS X PIX NODE NODE\n"
     "SYS SYS SYS SYS PIX X NODE NODE\n"
     "SYS SYS SYS SYS NODE NODE X PIX\n"
     "SYS SYS SYS SYS NODE NODE PIX X\n",
     "", ""},
    {"pcie8-bridged", NULL,
     "GPU0 nvidia numa=0 socket=0 cpus=0-31,64-95\n"
     "GPU1 nvidia numa=0 socket=0 cpus=0-31,64-95\n"
     "GPU2 nvidia numa=0 socket=0 cpus=0-31,64-95\n"
     "GPU3 nvidia numa=1 socket=1 cpus=32-63,96-127\n"
     "GPU4 nvidia numa=1 socket=1 cpus=32-63,96-127\n"
     "GPU5 nvidia numa=1 socket=1 cpus=32-63,96-127\n"
     "GPU6 nvidia numa=1 socket=1 cpus=32-63,96-127\n"
     "GPU7 nvidia numa=1 socket=1 cpus=32-63,96-127\n",
     "X NODE NODE SYS SYS NV12 SYS SYS\n"
     "NODE X NV12 SYS SYS SYS SYS SYS\n"
     "NODE NV12 X SYS SYS SYS SYS SYS\n"
     "SYS SYS SYS X NV12 NODE NODE NODE\n"
     "SYS SYS SYS NV12 X NODE NODE NODE\n"
     "NV12 SYS SYS NODE NODE X NODE NODE\n"
     "SYS SYS SYS NODE NODE NODE X NV12\n"
     "SYS SYS SYS NODE NODE NODE NV12 X\n",
     "", ""},
};

static void test_machine(const struct import_golden *golden)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    int rc = dt_import_machine(&topo, golden->name, &err);

    import_golden_check(golden, rc, topo, err.text);
    dt_topo_destroy(topo);
}

/* The same machines as lstopo saw them. */
static const struct {
    const char *machine, *file;
    bool has_counts; /* of links; hwloc's matrices of xGMI have none */
} seen[] = {
    {"juwels-booster", "topologies/psmgmt_topo.jwb0001.xml", true},
    {"mi250x", "topologies/mpibind_eas-tioga.xml", true},
    {"mi300a", "topologies/fluxcore_tuo.SPX.xml", false},
    {"summit", "topologies/pmix_summit.h17n08.lstopo-2.2.0.xml", true},
};

static void test_seen(size_t row)
{
    struct dtrain_error err = {""};
    struct dt_topo *machine = NULL;
    struct dt_topo *file = NULL;
    static char paths[TOPO_PRINT_MAX];
    static char gpus[TOPO_PRINT_MAX];
    char path[4096];

    if (!shared_file_path(path, sizeof(path), seen[row].file)) {
        tap_skip(seen[row].file, "no such file beside the source tree");
        return;
    }
    if (!tap_ok(dt_import_machine(&machine, seen[row].machine, &err) == 0 &&
                    dt_import_file(&file, NULL, path, &err) == 0,
                "%s and %s", seen[row].machine, seen[row].file)) {
        printf("# %s\n", err.text);
        goto out;
    }
    import_golden_print_gpus(file);
    strcpy(gpus, import_golden_printed);
    import_golden_print_gpus(machine);
    import_golden_same(gpus, "GPUs as in the file", seen[row].machine);
    if (!seen[row].has_counts)
        goto out;
    topo_print_paths(paths, sizeof(paths), file);
    topo_print_paths(import_golden_printed, sizeof(import_golden_printed), machine);
    import_golden_same(paths, "paths as in the file", seen[row].machine);
out:
    dt_topo_destroy(machine);
    dt_topo_destroy(file);
}

static const struct {
    const char *name;
    uint32_t cores;
    const char *second; /* the CPUs of core 1 */
    uint32_t memories;  /* NUMA nodes of GPUs' memory */
} cores[] = {
    {"dgx-a100", 128, "1,129", 0},     {"summit", 42, "4-7", 0},    {"gh200", 288, "1", 4},
    {"juwels-booster", 48, "1,49", 0}, {"mi300x", 192, "1,193", 0}, {"ndv4", 96, "1", 0},
};

static void test_cores(size_t row)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    char list[64] = "";
    uint32_t memories = 0;

    if (dt_import_machine(&topo, cores[row].name, &err) != 0) {
        tap_ok(false, "%s: %s", cores[row].name, err.text);
        return;
    }
    if (topo->core_count > 1)
        hwloc_bitmap_list_snprintf(list, sizeof(list), topo->cores[1]);
    for (uint32_t i = 0; i < topo->numa_count; i++)
        memories += topo->numas[i].is_gpu_memory;
    tap_ok(topo->core_count == cores[row].cores, "%s has %u cores", cores[row].name, topo->core_count);
    tap_ok(strcmp(list, cores[row].second) == 0, "%s: core 1 is %s", cores[row].name, list);
    tap_ok(memories == cores[row].memories, "%s: %u NUMA nodes are GPU memory", cores[row].name, memories);
    dt_topo_destroy(topo);
}

static void test_names(void)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    size_t count;
    const struct dt_import_machine *all = dt_import_machines(&count);

    tap_ok(count == IMPORT_GOLDEN_COUNT(machines), "every machine has a golden");
    for (size_t i = 0; i < count; i++)
        tap_ok(all[i].help[0] != '\0' && strcmp(all[i].name, machines[i].name) == 0, "%s is listed",
               all[i].name);
    tap_ok(dt_import_machine(&topo, "dgx-9", &err) == -1, "an unknown machine is refused");
    tap_holds(err.text, "machine: 'dgx-9' is not known: expected dgx-a100, dgx-h100",
              "the known ones are named");
}

int main(void)
{
    for (size_t i = 0; i < IMPORT_GOLDEN_COUNT(machines); i++)
        test_machine(&machines[i]);
    for (size_t i = 0; i < IMPORT_GOLDEN_COUNT(cores); i++)
        test_cores(i);
    for (size_t i = 0; i < IMPORT_GOLDEN_COUNT(seen); i++)
        test_seen(i);
    test_names();
    return tap_done();
}
