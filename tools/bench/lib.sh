# Sourced by the scripts here, after tools/lib.sh (sh). They set $root and $work.
# shellcheck shell=sh

here=$root/tools/bench

# The directory as an initramfs, the same bytes each time.
pack() {
	(cd "$1" && find . -exec touch -h -d @0 {} + && find . | LC_ALL=C sort |
		cpio -o -H newc -R 0:0 --reproducible --quiet)
}

# The initramfs that measures, with the sets of the directory $1.
make_initramfs() {
	fs=$work/base
	mkdir -p "$fs/bin" "$fs/dev" "$fs/proc" "$fs/sys" "$fs/tmp"
	cp "$here/init" "$fs/init"
	cp -r "$1" "$fs/sets"
	gcc -O2 -static -Wall -Wextra -Wno-unused-parameter -o "$fs/bin/faults" "$here/faults.c"
	cp "$(command -v busybox)" "$fs/bin/busybox"
	busybox --list | while read -r applet; do
		[ "$applet" = busybox ] || ln -s busybox "$fs/bin/$applet"
	done
	pack "$fs" >"$work/initramfs"
}

# boot VERSION SETS [OPTION...]: the guest that counts instructions, in the
# foreground; its results are in $work/results.
boot() {
	kernel=$build/$1/x86_64-guest/arch/x86/boot/bzImage sets=$2
	log=$build/log/bench-$1.log
	shift 2
	[ -f "$kernel" ] || die "no $kernel: run tools/kernel/build"
	timeout "${BENCH_TIMEOUT:-1200}" qemu-system-x86_64 \
		-nodefaults -no-user-config -display none -no-reboot \
		-M q35 -accel tcg -cpu max -smp 1 -m 2G -seed 1 \
		-icount shift=0,sleep=off -rtc base=2020-01-01,clock=vm \
		-kernel "$kernel" -initrd "$work/initramfs" \
		-append "console=ttyS0 loglevel=5 panic=-1 nokaslr norandmaps set=$sets" \
		-serial "file:$log" -serial "file:$work/results" "$@" ||
		die "QEMU failed or took too long: $log"
	case $(tail -n 1 "$work/results") in
	end) ;;
	error:*) die "$(tail -n 1 "$work/results") ($log)" ;;
	*) die "the guest ended early: $log" ;;
	esac
}
