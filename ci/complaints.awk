# complaints.awk - what a kernel complains of on its console, but for what is known
#
# usage: awk [-v check=NAME] -f complaints.awk CONSOLE

# What the kernel does about the #NM and, with ibt=warn, the #CP that the tests raise in it.
check ~ /^kselftest/ && / ((traced_)?exc_device_not_available|raise_cp_ip)[+]|Missing ENDBR/ { next }

# Of the kernel that is to die there.
check ~ /^flight/ && !rebooted { rebooted = /Rebooting in/; next }

# A data race counts if one of the two functions that it names is of the queue.
/BUG: KCSAN/ && !/(record|event|trace)_(trap|page_fault|mm_fault)|traced_|trap_(record|entry|exit|events|flags|watch|may_record|duration)|page_fault_(events|entry|exit)|mm_fault_result/ { next }

# What the test is about.
check ~ /^kselftest-x86_64-qemu-oops/ && /BUG: kernel NULL pointer dereference|Oops: Oops: 0002|lkdtm_WARNING[+]|Oops: invalid opcode/ { next }
check == "oops-arm64" && /lkdtm_WARNING[+]|kernel BUG at|Oops - BUG|lkdtm_BUG[+]/ { next }

# QEMU's TCG takes some of the code that stress-ng makes up, in user mode, for an access of
# the kernel, of memory that is not present or that is user mode's.
check ~ /^loads-.*opcode$/ && /BUG: unable to handle page fault|Oops: Oops: 000[0-3]/ { oops = oops $0 "\n"; next }
/RIP: 00(33|23):/ { oops = "" }
oops && /RIP: / { printf "%s", oops; oops = "" }

# Of a timer that CPU hotplug left queued: the kernel's deadline server, now and then.
check ~ /^kselftest/ && /WARNING:.* hrtimer_forward[+]/ { held = $0; next }
/dl_task_timer/ { held = "" }

# Without memory: ftrace's for a ring buffer, and of sched_switch, which it could not switch on.
check == "failures-allocation" && /WARNING:.* trace_rb_cpu_prepare[+]/ { next }
check == "failures-allocation" && /WARNING:.* tracepoint_probe_unregister[+]/ { held = $0; next }
/tracing_stop_cmdline_record/ { held = "" }

held && /end trace/ { print held; held = "" }
END { printf "%s", oops; if (held) print held }

/WARNING:|BUG:|UBSAN:|Oops|suspicious RCU|rcu:.*(stall|detected)|blocked.* for more than|non-static key|unchecked MSR access/
# Of its command line.
/Malformed|Unknown kernel/
# Which test the next ones are of.
check == "upstream" && /upstream: run /
