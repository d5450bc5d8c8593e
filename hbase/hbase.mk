# hbase.mk - what a Makefile needs that links the client; it sets TOP (the checkout, with a slash at
# the end, or empty) and includes this.
#
#   HBASE_OBJS    the objects, relative to the current directory: hbase/scan.o, hbase/proto/rpc.pb-c.o
#   HBASE_LIBS    the libraries
#   HBASE_CLEAN   files to remove
# The messages are made of hbase/proto/*.proto in the current directory, so -I. and -I$(TOP) are
# wanted.  Needs protobuf-c-compiler and libprotobuf-c-dev.  Kerberos is built where MIT's GSSAPI
# library is there (libkrb5-dev); HBASE_KERBEROS=0 builds without it.

HBASE_PROTOS := $(sort $(wildcard $(TOP)hbase/proto/*.proto))
HBASE_MESSAGES := $(patsubst $(TOP)%.proto,%.pb-c.c,$(HBASE_PROTOS))
HBASE_SOURCES := $(sort $(wildcard $(TOP)hbase/*.c))
HBASE_OBJS := $(patsubst $(TOP)%.c,%.o,$(HBASE_SOURCES)) $(HBASE_MESSAGES:.c=.o)
HBASE_LIBS := -lprotobuf-c
HBASE_KERBEROS ?= $(shell pkg-config --exists mit-krb5-gssapi 2>/dev/null && echo 1)
ifeq ($(HBASE_KERBEROS),1)
HBASE_GSS_CFLAGS := -DHB_GSSAPI $(shell pkg-config --cflags mit-krb5-gssapi)
HBASE_LIBS += $(shell pkg-config --libs mit-krb5-gssapi)
endif
HBASE_CLEAN := $(HBASE_OBJS) $(HBASE_OBJS:.o=.d) $(HBASE_OBJS:.o=.bc) $(HBASE_MESSAGES) $(HBASE_MESSAGES:.c=.h) hbase/proto/made

# all of them at once: their headers include each other
hbase/proto/made: $(HBASE_PROTOS)
	@mkdir -p hbase/proto
	protoc-c -I$(if $(TOP),$(TOP),.) --c_out=. $(HBASE_PROTOS)
	@touch $@
$(HBASE_MESSAGES): hbase/proto/made ;
$(HBASE_OBJS) $(HBASE_OBJS:.o=.bc): hbase/proto/made
