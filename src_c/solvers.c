/* The inner loops of the solvers, described in nnk_solvers.h. */
#include "nnk_solvers.h"
#include "templating.h"

#define T float
#define S f32
#include "solvers.template.h"
#undef T
#undef S

#define T double
#define S f64
#include "solvers.template.h"
