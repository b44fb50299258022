/* Templates: one source per algorithm for all types.  A file *.template.h is included once per
 * type, with the type T and its suffix S defined, and F and FS if the features are of another
 * type. */
#ifndef NNK_TEMPLATING_H
#define NNK_TEMPLATING_H
#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(CAT(a, b), c)

/* Call WORK(patch) with a constant for the usual sides of patches, so that the compiler unrolls
 * loops over a line of the patch. */
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
