/*
 * nested_form.h
 *		What nested_encode.c and nested_decode.c share: forms and marks of nested values.
 */
#ifndef WT_NESTED_FORM_H
#define WT_NESTED_FORM_H

#include "fdw/table/types.h"

/* The first byte of a value in this form.  No text contains it, so that a value in text form, which
 * the column may hold as well, is told from it. */
#define WT_NESTED_MARK 0x00

/* First byte of a body */
#define WT_BODY_ARRAY	   'A'
#define WT_BODY_COMPOSITE  'C'
#define WT_BODY_RANGE	   'R'
#define WT_BODY_MULTIRANGE 'M'

/* Forms of what is inside: 2 to 13 are the binary forms of some types (nested_form.c) */
#define WT_FORM_TEXT   0
#define WT_FORM_BYTES  1
#define WT_FORM_NESTED 14
#define WT_FORM_NULLS  0x80 /* of elements of an array: a bit for each says whether it is null */

/* Flags of a range */
#define WT_BOUND_EMPTY	   0x01
#define WT_BOUND_INCLUSIVE 0x02 /* of the lower bound; the upper bound has the next bit */
#define WT_BOUND_INFINITE  0x08 /* likewise */
#define WT_BOUND_ALL	   0x1F

/* What elements, an attribute or bounds are: a column for encode.c and decode.c. */
typedef struct WtNestedPart
{
	WtColumn column;
	uint8 form;
	int width; /* bytes of each value in this form; 0: they differ */
} WtNestedPart;

/* c: what the part is inside of; typid may be a domain. */
extern WtNestedPart wt_nested_form_part(const WtColumn *c, Oid typid, int32 typmod);

/* Returns the type whose bytes have this form. */
extern Oid wt_nested_form_type(uint8 form);

extern WtEncoding wt_nested_form_encoding(uint8 form);

/* Returns the bytes of each value in this form; 0: they differ. */
extern int wt_nested_form_width(uint8 form);

#endif /* WT_NESTED_FORM_H */
