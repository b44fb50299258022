/* One source per algorithm for all types: a template file is included once per
 * type with T, S (and F, FS for features of another type) defined. */
#ifndef NNK_TEMPLATING_H
#define NNK_TEMPLATING_H
#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(CAT(a, b), c)

/* WORK(patch) with the usual sides of patches as constants: loops over a patch's row
 * are then unrolled. */
#define FOR_PATCH(patch, WORK)                                                                               \
    switch (patch) {                                                                                         \
    case 4: WORK(4); break;                                                                                  \
    case 5: WORK(5); break;                                                                                  \
    case 6: WORK(6); break;                                                                                  \
    case 7: WORK(7); break;                                                                                  \
    case 9: WORK(9); break;                                                                                  \
    case 12: WORK(12); break;                                                                                \
    default: WORK(patch);                                                                                    \
    }
#endif
