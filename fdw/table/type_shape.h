/*
 * type_shape.h
 *		What a type is made of: scalars, arrays, composites, ranges, multiranges, and domains
 *		over them.
 */
#ifndef WT_TYPE_SHAPE_H
#define WT_TYPE_SHAPE_H

typedef enum WtShapeKind
{
	WT_SHAPE_SCALAR,
	WT_SHAPE_ARRAY,
	WT_SHAPE_COMPOSITE,
	WT_SHAPE_RANGE,
	WT_SHAPE_MULTIRANGE
} WtShapeKind;

typedef struct WtShape
{
	WtShapeKind kind;
	Oid typid;	  /* the type; of a domain its base type */
	int32 typmod; /* of a domain: that of its base type */
	bool domain;

	/* what it consists of, which may be a domain: elements of an array, bounds of a range, ranges
	 * of a multirange */
	Oid part;

	/* WT_SHAPE_ARRAY: of the elements */
	int16 len;
	bool byval;
	char align;
	char delimiter;
} WtShape;

/* Returns the shape of a type.  It stays valid while the process lives, its contents while the
 * type exists. */
extern const WtShape *wt_type_shape(Oid typid);

/* Returns true if values of the type consist of other values. */
static inline bool
wt_type_shape_is_nested(Oid typid)
{
	return wt_type_shape(typid)->kind != WT_SHAPE_SCALAR;
}

/*
 * Returns true if the function is a built-in one or of language C.  Only superusers can make such
 * functions.  A read calls no others.
 */
extern bool wt_type_shape_is_native(Oid function);

#endif /* WT_TYPE_SHAPE_H */
