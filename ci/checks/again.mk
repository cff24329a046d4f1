# again.mk - compile objects again as the kernel's make has done, without the time
# that it needs to find out what to do
#
# usage: make -s -k -C BUILD -f again.mk objects='OBJECT...'
.PHONY: all $(objects)
all: $(objects)
include $(foreach o,$(objects),$(dir $o).$(notdir $o).cmd)
$(objects): ; $(savedcmd_$@)
