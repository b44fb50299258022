/* Image graphs that are given as CSR matrices: their entries for a grid operator. */
#include <stdlib.h>
#include <string.h>

#include "csr.h"
#include "nnk_core.h"
#include "entries.h"
#include "planes.h"
#include "templating.h"

#define T float
#define S f32
#define BLOCK 8
#include "operator.template.h"
#undef T
#undef S
#undef BLOCK

#define T double
#define S f64
#define BLOCK 4
#include "operator.template.h"
