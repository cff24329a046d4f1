# Sourced by what builds single objects, after lib.sh (sh). They set $v, $tree and $out.
# shellcheck shell=sh

# The sources that the queue touches.
sources() { queue_code "$v" | grep '\.[cS]$'; }

# Does the directory's Makefile build that, and that of its parent the directory?
is_built() {
	[ -d "$tree/$1" ] || return 1
	make -s -f - srctree="$tree" out="$out" obj="$1" src="$tree/$1" 2>/dev/null <<-'END' |
		all: ;
		include $(out)/.config
		include $(firstword $(wildcard $(src)/Kbuild $(src)/Makefile))
		$(info $(obj-y) $(obj-m) $(lib-y))
	END
		tr ' ' '\n' | grep -qxF "$2" || return 1
	case $1 in
	arch/x86 | arch/arm64) grep -qix "CONFIG_${1#arch/}=y" "$out/.config" ;;
	*/*) is_built "${1%/*}" "${1##*/}/" ;;
	esac
}

# The objects of the sources on stdin, as far as the configuration has them. A source
# may be included by another one.
objects() {
	while read -r f; do
		[ -f "$tree/$f" ] || continue
		dir=${f%/*} base=${f##*/}
		whole=$(grep -lF "#include \"$base\"" "$tree/$dir"/*.c 2>/dev/null | head -n 1)
		[ -z "$whole" ] || base=${whole##*/}
		object=${base%.*}.o
		! is_built "$dir" "$object" || echo "$dir/$object"
	done | sort -u
}
