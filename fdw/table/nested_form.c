/*
 * nested_form.c
 *		Arrays, composites, ranges and multiranges as bytes: encoding "nested".
 *
 * Invariant: to read a value runs no code of a user.  The output and input functions of these
 * types call those of what is inside, and the input function of a domain evaluates its CHECK
 * constraints: functions of the type's owner, with the rights of whoever reads.  Therefore
 * nested_encode.c writes the structure itself, and nested_decode.c reads it.  What is inside is
 * stored as the value of its base type; domains are checked when a value is written.  The form as
 * text, which was the only one once, is read by nested_text.c under the same rule.
 *
 * The bytes (doc/encodings.md has an example of each):
 *
 *	value		mark 00, body
 *	body		'A' array | 'C' composite | 'R' range | 'M' multirange
 *	array		form of the elements; u8 dimensions; for each: u32 length, i32 lower bound;
 *				elements of fixed width:  if the form has WT_FORM_NULLS, a bit for each element, the
 *						lowest first, 1 if it is not null; then those that are not null
 *				other elements:  for each: varint 0 if it is null, else length + 1; bytes
 *	composite	for each attribute that is not null, by rising number: varint number, form,
 *				varint length, bytes
 *	range		form of the bounds; bounds
 *	multirange	form of the bounds; for each range: bounds
 *	bounds		u8 flags; for each bound that is there: varint length, bytes
 *	varint		seven bits a byte, the lowest first; bit 80 says that another one follows
 *
 * All other numbers are big-endian.  A form is what encoding.c calls text, bytes or binary for the
 * base type, or a body.  The forms make a value readable without its type.  If the type of
 * what is inside has changed since, a scalar is converted by way of its text.
 *
 * Attributes go by number, which PostgreSQL never uses again: one that was dropped is skipped, one
 * that was added is null.
 *
 * The bytes may be anything.  Lengths are checked before memory is allocated, and the depth of
 * recursion is that of the column's type.
 */
#include "postgres.h"

#include "fdw/table/nested_form.h"

#include "catalog/pg_type.h"

#include "fdw/table/encoding.h"
#include "fdw/table/type_shape.h"
#include "fdw/table/types.h"

/* By form; the numbers are stored */
static const Oid form_types[] = {TEXTOID, BYTEAOID,		BOOLOID,		INT2OID,   INT4OID,
								 INT8OID, OIDOID,		FLOAT4OID,		FLOAT8OID, DATEOID,
								 TIMEOID, TIMESTAMPOID, TIMESTAMPTZOID, UUIDOID};

Oid
wt_nested_form_type(uint8 form)
{
	Assert(form < lengthof(form_types));
	return form_types[form];
}

WtEncoding
wt_nested_form_encoding(uint8 form)
{
	return form == WT_FORM_TEXT		? WT_ENC_TEXT
		   : form == WT_FORM_BYTES	? WT_ENC_BYTES
		   : form == WT_FORM_NESTED ? WT_ENC_NESTED
									: WT_ENC_BINARY;
}

int
wt_nested_form_width(uint8 form)
{
	return form < lengthof(form_types) ? Max(wt_encoding_binary_width(form_types[form]), 0) : 0;
}

WtNestedPart
wt_nested_form_part(const WtColumn *c, Oid typid, int32 typmod)
{
	const WtShape *s = wt_type_shape(typid);
	WtNestedPart part = {.column = {.name = c->name,
									.typid = s->typid,
									.typmod = s->domain ? s->typmod : typmod,
									.role = WT_CELL,
									.family = -1}};

	if (s->kind != WT_SHAPE_SCALAR)
		part.form = WT_FORM_NESTED;
	else
		for (int i = WT_FORM_BYTES; i < (int) lengthof(form_types); i++)
			if (form_types[i] == s->typid)
				part.form = (uint8) i;
	part.column.enc = wt_nested_form_encoding(part.form);
	part.width = wt_nested_form_width(part.form);
	return part;
}
