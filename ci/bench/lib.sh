# Sourced by the scripts here, after ci/lib.sh (sh). They set $root and $work.
# shellcheck shell=sh

here=$root/ci/bench

# The directory as an initramfs, the same bytes each time.
pack() {
	(cd "$1" && find . -exec touch -h -d @0 {} + && find . | LC_ALL=C sort |
		cpio -o -H newc -R 0:0 --reproducible --quiet)
}

# files TO FILE...: copy programs, and what they are linked with
files() {
	to=$1
	shift
	for f; do [ -e "$f" ] || die "no $f: run ci/setup"; done
	{
		printf '%s\n' "$@"
		ldd "$@" 2>/dev/null | sed -n 's/^\t\(.* => \)\{0,1\}\(\/[^ ]*\) .*/\2/p'
	} | sort -u | while read -r f; do
		mkdir -p "$to${f%/*}"
		cp -L "$f" "$to$f"
	done
}

# The C programs that run in the guest.
programs() {
	cflags='-O2 -Wall -Wextra -Wno-unused-parameter'
	# shellcheck disable=SC2086 # a list of words
	gcc $cflags -static -o "$1/faults" "$here/faults.c" &&
		gcc $cflags -static -o "$1/bpf" "$here/bpf.c" -lbpf -lelf -lz &&
		gcc $cflags -static -o "$1/whole" "$here/whole.c" &&
		gcc $cflags -static -o "$1/alloc" "$here/alloc.c" &&
		gcc $cflags -static -o "$1/loops" "$here/loops.c" &&
		gcc $cflags -fPIC -shared -nostdlib -o "$1/sysv.so" "$here/sysv.c"
}

# The kernel KERNEL is a version in build/, then built as x86_64-guest, or VERSION/CONFIG.
dir_of() {
	case $1 in */*) echo "$build/$1" ;; *) echo "$build/$1/x86_64-guest" ;; esac
}

# kernel_of NAME: the kernel that the results call NAME. $v is the version.
kernel_of() {
	config=x86_64-guest
	case $1 in *-Os) config=x86_64-size ;; esac
	case $1 in
	vanilla*) echo "$v-vanilla/$config" ;;
	alone) echo "$v-$(alone)/$config" ;;
	*) echo "$v/$config" ;;
	esac
}

# How many patches the traps events are; what follows is not about exceptions.
alone() {
	sed '/^# \(sched\|tracing\): /,$d; /^#/d; /^$/d' "$root/patches/$v/series" | wc -l
}

# make_modules KERNEL SETS: the modules that SETS need, in $work/modules
make_modules() {
	rm -rf "$work/modules"
	mkdir "$work/modules"
	out=$(dir_of "$1")
	for set in $2; do
		case $set in
		module)
			rm -rf "$work/module"
			cp -r "$here/module" "$work/module"
			make -s -C "$out" M="$work/module" modules
			cp "$work/module/ticks.ko" "$work/modules/"
			;;
		lttng)
			"$root/tools/lttng/build" "${1%%/*}" >&2
			cp -r "$build/${1%%/*}/lttng/root/lib" "$work/modules/"
			;;
		esac
	done
}

# make_initramfs DIR SETS [FILE...]: the guest's files, with those that the SETS of
# DIR need, and FILEs
make_initramfs() {
	fs=$work/fs
	rm -rf "$fs"
	mkdir -p "$fs/bin" "$fs/dev" "$fs/proc" "$fs/sets" "$fs/src" "$fs/sys" "$fs/tmp"
	cp "$here/init" "$fs/init"
	for set in $2; do cp "$1/$set" "$fs/sets/" 2>/dev/null || die "no set $set in ci/bench/sets"; done
	for f in faults bpf; do gcc -E -P -o "$fs/src/$f.i" "$here/$f.c"; done
	programs "$fs/bin" || die 'cannot build the programs'
	cp "$(command -v busybox)" "$fs/bin/busybox"
	busybox --list | while read -r applet; do
		[ "$applet" = busybox ] || ln -s busybox "$fs/bin/$applet"
	done
	shift 2
	[ $# -eq 0 ] || cp -r "$@" "$fs/"
	# shellcheck disable=SC2046 # names without spaces
	set -- $(sed -n 's/^# files: //p' "$fs"/sets/*)
	[ $# -eq 0 ] || files "$fs" "$@"
	pack "$fs" >"$work/initramfs"
}

# boot KERNEL SETS [OPTION...]: the guest that counts instructions, with more of
# QEMU's OPTIONs; what it measured is in $work/results.
boot() {
	image=$(dir_of "$1")/arch/x86/boot/bzImage sets=$2
	log=$build/log/bench-$(echo "$1" | tr / -).log
	shift 2
	[ -f "$image" ] || die "no $image: run ci/kernel/build"
	timeout --foreground "${BENCH_TIMEOUT:-1800}" qemu-system-x86_64 \
		-nodefaults -no-user-config -display none -no-reboot \
		-M q35 -accel tcg -cpu max -smp 1 -m 2G -seed 1 \
		-icount shift=0,sleep=off -rtc base=2020-01-01,clock=vm \
		-kernel "$image" -initrd "$work/initramfs" \
		-append "console=ttyS0 loglevel=5 panic=-1 nokaslr norandmaps set=$(echo "$sets" | tr ' ' ,)" \
		-serial "file:$log" -serial "file:$work/results" "$@" ||
		die "QEMU failed or took too long: $log"
	case $(tail -n 1 "$work/results") in
	end) ;;
	error:*) die "$(tail -n 1 "$work/results") ($log)" ;;
	*) die "the guest ended early: $log" ;;
	esac
}

# What the results depend on, but for the queue: equal lines, equal results of the
# vanilla kernel. Needs the initramfs of the SETs that are exact.
versions() {
	sed 's/^/# /' "$build/$1/linux/.source"
	gcc --version | sed -n '1s/^/# /p'
	ld --version | sed -n '1s/^/# /p'
	qemu-system-x86_64 --version | sed -n '1s/^/# /p'
	echo "# configuration $(cd "$root/kernel-config" && cat btf.config x86_64-guest.config x86_64-size.config | grep ^CONFIG_ | sum)"
	echo "# measuring programs $(sum <"$work/initramfs")"
}

# Which queue it is: the code that it makes, not its words.
queue() {
	echo "# queue $(cd "$build/$1/linux" && queue_code "$1" | xargs cat | sum)"
}

sum() { sha256sum | cut -c1-16; }

# The results of the SETs that are exact, of the kernel NAME. Vanilla 7.3 compiled for
# size dies of a kretprobe and of an fprobe on handle_mm_fault().
exact='off traps kprobes peers'
exact_results() {
	case $1 in *-Os) sets='off traps' ;; *) sets=$exact ;; esac
	boot "$(kernel_of "$1")" "$sets"
	sed "\$d; s/^/$1	/" "$work/results"
}
