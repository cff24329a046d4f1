# Sourced by the scripts here, after tools/lib.sh (sh). They set $root and $work.
# shellcheck shell=sh

here=$root/tools/bench

# The directory as an initramfs, the same bytes each time.
pack() {
	(cd "$1" && find . -exec touch -h -d @0 {} + && find . | LC_ALL=C sort |
		cpio -o -H newc -R 0:0 --reproducible --quiet)
}

# files TO FILE...: copy programs, and what they are linked with
files() {
	to=$1
	shift
	for f; do [ -e "$f" ] || die "no $f: run tools/setup"; done
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
		gcc $cflags -fPIC -shared -nostdlib -o "$1/sysv.so" "$here/sysv.c"
}

# make_modules VERSION SETS: the modules that SETS need, in $work/modules
make_modules() {
	rm -rf "$work/modules"
	mkdir "$work/modules"
	out=$build/$1/x86_64-guest
	for set in $2; do
		case $set in
		floor)
			"$root/tools/kernel/build" "$1" x86_64-guest modules_prepare >&2
			cp -r "$here/floor" "$work/floor"
			make -s -C "$out" M="$work/floor" KBUILD_MODPOST_WARN=1 modules
			cp "$work/floor/floor.ko" "$work/modules/"
			;;
		lttng)
			"$root/tools/lttng/build" "$1" >&2
			cp -r "$build/$1/lttng/root/lib" "$work/modules/"
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
	for set in $2; do cp "$1/$set" "$fs/sets/" 2>/dev/null || die "no set $set in tools/bench/sets"; done
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

# boot VERSION SETS [OPTION...]: the guest that counts instructions, with more of
# QEMU's OPTIONs; what it measured is in $work/results.
boot() {
	image=$build/$1/x86_64-guest/arch/x86/boot/bzImage sets=$2
	log=$build/log/bench-$1.log
	shift 2
	[ -f "$image" ] || die "no $image: run tools/kernel/build"
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
	config=$root/kernel-config/x86_64-guest.config
	# shellcheck disable=SC2046 # names without spaces
	echo "# configuration $(grep -h ^CONFIG_ "$config" $(sed -n "s,^# with: \(.*\),$root/kernel-config/\1.config,p" "$config") | sum)"
	echo "# measuring programs $(sum <"$work/initramfs")"
}

# Which queue it is: the code that it makes, not its words.
queue() {
	# shellcheck disable=SC2046 # names without spaces
	echo "# queue $(cd "$build/$1/linux" && touched $(series "$1") |
		grep -E '^(arch|include|kernel)/' | xargs cat | sum)"
}

sum() { sha256sum | cut -c1-16; }

# The results of the SETs that are exact, of the kernel NAME, built as VERSION.
exact='off traps peers'
exact_results() {
	# shellcheck disable=SC2086 # a list
	boot "$2" "$exact"
	sed "\$d; s/^/$1	/" "$work/results"
}
