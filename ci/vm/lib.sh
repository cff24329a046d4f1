# Sourced by run and boot (sh). They set $root and $emulator; what cleanup has to
# end is in $vm and $readers.
# shellcheck shell=sh

kernel=$root/build/${KERNEL:-7.3}/x86_64-guest/arch/x86/boot/bzImage
log=$root/build/log/vm-console.log
limit=600
job='' vm='' readers=''
# No panic if the emulated timer is late, which guests of KVM do not check either.
# shellcheck disable=SC2034 # for who sources this
boot_always='loglevel=5 panic=-1 no_timer_check'

die() { echo "vm/${0##*/}: $*" >&2; exit 125; }
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

# shellcheck disable=SC2317 # called by trap
cleanup() {
	trap '' INT TERM HUP
	[ -z "$vm" ] || { kill "$vm" && wait "$vm"; } 2>/dev/null || :
	# shellcheck disable=SC2086 # a list of pids
	[ -z "$readers" ] || kill $readers 2>/dev/null || :
	[ -z "$job" ] || rm -rf "$job"
}

# Make $job, a directory for this run.
prepare() {
	[ -r "$kernel" ] || die "no kernel at $kernel: build one or name one with -k"
	command -v cpio >/dev/null || die "no cpio: apt install cpio"
	mkdir -p "$root/build/vm" "${log%/*}"
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	job=$(mktemp -d "$root/build/vm/job.XXXXXX")
}

# root_files INIT BUSYBOX: what every initramfs has, in $job/fs.
root_files() {
	mkdir -p "$job/fs/bin" "$job/fs/dev"
	cp "$root/ci/vm/$1" "$job/fs/init"
	cp "$root/ci/vm/mounts" "$job/fs/mounts"
	cp "$2" "$job/fs/bin/busybox"
	busybox --list | while read -r applet; do
		[ "$applet" = busybox ] || ln -s busybox "$job/fs/bin/$applet"
	done
}

pack() { (cd "$job/fs" && find . | cpio -o -H newc -R 0:0 --quiet); }

# ended STATUS OUTPUT: the emulator ended without the guest's saying how the
# command did. Says why; OUTPUT is what the emulator printed.
ended() {
	[ ! -s "$log" ] || tail -n 12 "$log" | tr -d '\r' >&2
	case $1 in
	124 | 137)
		echo "vm/${0##*/}: the guest did not end within $limit s (-t): $log" >&2
		exit 124 ;;
	esac
	if grep -aq 'Kernel panic' "$log"; then
		die "$(grep -a -m 1 -o 'Kernel panic.*' "$log" | tr -d '\r') in the guest: $log"
	fi
	[ "$1" -eq 0 ] || die "$emulator failed: $(tail -n 1 "$2")"
	die "the guest ended without running the command to its end: $log"
}
