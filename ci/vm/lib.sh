# Sourced after ci/lib.sh by what boots a guest (sh): its machine and its initramfs.
# shellcheck shell=sh disable=SC2034 # what ci/lib.sh uses

# of the machine: its kernel, as of ci/vm/run's -k; the architecture of that, x86_64, i386 or arm64;
# its QEMU
case ${ARCH-} in
arm64) kernel=arm64-guest ;;
*) kernel=x86_64-guest ;;
esac
guest=x86_64 qemu=qemu-system-x86_64
accel=tcg cpu='' smp=2 mem=2G deterministic='' append='' extra='' reset=-no-reboot
# the log of its console, the seconds that it may take, the emulator's process
log=$build/log/vm-console.log
limit=10800 vm=''

absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac }

# QEMU option values: a comma ends a value unless doubled.
value() { printf '%s' "$1" | sed 's/,/,,/g'; }

# Arguments quoted for sh.
quote() {
	for arg; do
		printf '%s\n' "$arg" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/" | sed '$s/$/ \\/'
	done
	echo
}

# What the end of a script that boots a guest does, $undo.
stop() { [ -z "$vm" ] || { kill "$vm" && wait "$vm"; } 2>/dev/null; }

header() { od -A n -t u1 -j "$1" -N "$2" "$kernel" | tr -s ' '; }

# What the kernel is for says its header: arm64's magic number, or XLF_KERNEL_64 of x86's
# boot protocol.
find_guest() {
	[ -f "$kernel" ] || {
		case $kernel in */*) kernel=$build/$kernel ;; *) kernel=$build/$v/$kernel ;; esac
		image=$(ls "$kernel/arch/arm64/boot/Image" "$kernel/arch/x86/boot/bzImage" 2>/dev/null) ||
			[ "$image" ] || die "no kernel in ${kernel#"$root"/}: build one or name one with -k"
		kernel=$image
	}
	if [ "$(header 56 4)" = ' 65 82 77 100' ]; then
		guest=arm64 qemu=qemu-system-aarch64
	elif [ $(($(header 566 1) & 1)) -eq 0 ]; then
		guest=i386
	fi
}

# Before anything is done: $work.
prepare() {
	need cpio cpio
	mkdir -p "${log%/*}"
	: >"$log" || die "cannot write ${log#"$root"/}"
	undo=stop
	temp
	case $(uname -m) in x86_64) [ -x "$build/vm/tsc" ] || build_tsc ;; esac
}

# build/vm/tsc: the rate of this machine's TSC, which is the emulated CPU's, too
build_tsc() {
	need gcc gcc
	mkdir -p "$build/vm"
	gcc -O2 -o "$work/tsc" "$root/ci/vm/tsc.c" || die 'ci/vm/tsc.c does not compile'
	mv "$work/tsc" "$build/vm/tsc"
}

need_qemu() {
	case $guest in
	arm64) need $qemu qemu-system-arm ;;
	*) need $qemu qemu-system-x86 ;;
	esac
}

# initramfs INIT: $work/initramfs of it, busybox, and the files in $work/fs, equal ones of
# equal files
initramfs() {
	case $guest in
	x86_64)
		need busybox busybox-static
		box=$(command -v busybox) ;;
	*)
		box=$build/busybox-$guest/bin/busybox
		(
			. "$root/ci/apt.sh"
			. "$root/ci/vm/busybox.base"
			arch=$guest log=$build/log/busybox-$guest.log
			unpacked "$root/ci/vm/busybox.base" "$build/busybox-$guest"
		) >&2 ;;
	esac
	mkdir -p "$work/fs/bin"
	cp "$root/ci/vm/$1" "$work/fs/init"
	cp "$root/ci/vm/links" "$root/ci/vm/mounts" "$work/fs/"
	cp "$box" "$work/fs/bin/busybox"
	ln -s busybox "$work/fs/bin/sh"
	(cd "$work/fs" && find . -exec touch -h -d @0 {} + && find . | LC_ALL=C sort |
		cpio -o -H newc -R 0:0 --reproducible --quiet) >"$work/initramfs"
}

# The kernel's command line. No panic if the emulated timer is late, which guests of KVM
# do not check either.
command_line() {
	case $guest in
	arm64) console=ttyAMA0 ;;
	*) console='ttyS0,115200 no_timer_check' ;;
	esac
	echo "console=$console loglevel=5 panic=-1${deterministic:+ nokaslr norandmaps} $append"
}

# On a busy machine the kernel cannot measure it, and all its times are wrong.
tsc_rate() {
	[ ! -x "$build/vm/tsc" ] || [ "$guest" = arm64 ] ||
		append="tsc=reliable tsc_early_khz=$("$build/vm/tsc") $append"
}

# emulate CMD...: an emulator, until it ends; $status says how
emulate() {
	exec 3<&0
	# In the foreground, where it may read the terminal.
	timeout --foreground -k 5 "$limit" "$@" <&3 & vm=$!
	status=0
	wait "$vm" || status=$?
	vm=''
}

# qemu INITRAMFS [OPTION...]: the machine in QEMU, with more of QEMU's OPTIONs. Without an initramfs
# it boots as its firmware finds.
qemu() {
	initrd=$1
	shift
	if [ "$deterministic" ]; then
		smp=1
		set -- -accel tcg -seed 1 -icount shift=0,sleep=off -rtc base=2020-01-01,clock=vm "$@"
	elif [ "$accel" = kvm ]; then
		set -- -accel kvm "$@"
	else
		# One thread for all CPUs: with more, QEMU 7.2 now and then executes an int3
		# that text patching has removed already, and the guest dies of it.
		set -- -accel tcg,thread=single "$@"
		tsc_rate
	fi
	case $guest in
	arm64)
		board=virt,gic-version=3,mte=on
		# QARMA, which signs each return address, takes half of the time.
		[ "$cpu" != max ] || cpu=max,pauth-impdef=on
		;;
	*) board=q35 ;;
	esac
	[ -z "$initrd" ] || set -- -kernel "$kernel" -initrd "$initrd" -append "$(command_line)" "$@"
	# shellcheck disable=SC2086 # $extra is a list of arguments, $reset one or none
	emulate $qemu -nodefaults -no-user-config -display none $reset \
		-M $board -cpu "$cpu" -smp "$smp" -m "$mem" \
		-chardev "file,id=log,path=$(value "$log")" -serial chardev:log "$@" $extra
}

# ended EMULATOR OUTPUT: the emulator ended without the guest's saying how the command
# did. Says why; OUTPUT is what the emulator printed.
ended() {
	[ ! -s "$log" ] || tail -n 12 "$log" | tr -d '\r' >&2
	case $status in
	124 | 137)
		failure=124
		die "the guest did not end within $limit s (-t): ${log#"$root"/}"
		;;
	esac
	if grep -aq 'Kernel panic' "$log"; then
		die "$(grep -a -m 1 -o 'Kernel panic.*' "$log" | tr -d '\r') in the guest: ${log#"$root"/}"
	fi
	[ "$status" -eq 0 ] || die "$1 failed: $(tail -n 1 "$2")"
	die "the guest ended without running the command to its end: ${log#"$root"/}"
}
