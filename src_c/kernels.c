/* All functions with vector instructions.  This file is compiled once per instruction set;
 * NNK_VARIANT names the table that it defines. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aligned.h"
#include "bits.h"
#include "boxes.h"
#include "csr.h"
#include "gaussian.h"
#include "nnk_core.h"
#include "entries.h"
#include "double_blocks.h"
#include "planes.h"
#include "selection.h"
#include "simd.h"
#include "templating.h"

/* Least ridge of the matrices of patch filters, relative to their trace: for a stable inversion. */
#define RIDGE_f32 1e-6f
#define RIDGE_f64 1e-14
/* A group counts as constant if the trace of its Gram matrix, relative to that of the noise, is
 * below this. */
#define LEAST_TRACE 1e-24
enum { REFERENCES = 16 }; /* reference patches searched together: their keys fit into the cache */
/* How far ahead weights are prefetched, because reading them takes most of the time. */
enum { BYTES_AHEAD = 2048 };

#define T float
#define S f32
#include "prune.template.h"
#include "grid.template.h"
#include "chebyshev.template.h"
#include "small_matrix.template.h"
#include "match.template.h"
#include "patches.template.h"
#define F float
#define FS f32
#include "weights.template.h"
#undef F
#undef FS
#undef T
#undef S

#define T double
#define S f64
#include "prune.template.h"
#include "grid.template.h"
#include "chebyshev.template.h"
#include "small_matrix.template.h"
#include "match.template.h"
#include "patches.template.h"
#define F float
#define FS f32
#include "weights.template.h"
#undef F
#undef FS
#define F double
#define FS f64
#include "weights.template.h"

#define NAME_(v) #v
#define NAME(v) NAME_(v)
#define TABLE(v) CAT(nnk_kernels, v)

#define ENTRIES_OF(S)                                                                                       \
    .prune_##S = prune_##S, .degrees_##S = degrees_##S, .signless_##S = signless_##S,                       \
    .sweep_rows_##S = sweep_rows_##S, .sweep_room_##S = sweep_room_##S, .match_##S = match_##S,             \
    .patch_pass_##S = patch_pass_##S

const nnk_kernels TABLE(NNK_VARIANT) = {
    .name = NAME(NNK_VARIANT),
    ENTRIES_OF(f32),
    ENTRIES_OF(f64),
    .fill_f32_f32 = fill_f32_f32,
    .fill_f32_f64 = fill_f32_f64,
    .fill_f64_f64 = fill_f64_f64,
    .fill_entries_f32_f32 = fill_entries_f32_f32,
    .fill_entries_f32_f64 = fill_entries_f32_f64,
    .fill_entries_f64_f64 = fill_entries_f64_f64,
};
