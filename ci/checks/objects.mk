# objects.mk - what the Makefile of a directory of the kernel builds
#
# usage: make -s -f objects.mk srctree=TREE O=BUILD dir=DIRECTORY
.PHONY: all
all: ;
include $(O)/.config
obj := $(dir)
src := $(srctree)/$(dir)
include $(firstword $(wildcard $(src)/Kbuild $(src)/Makefile))
$(info $(obj-y) $(obj-m) $(lib-y))
