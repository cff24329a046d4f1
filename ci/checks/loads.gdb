set pagination off
set confirm off
break main
run
stepi 2000
watch watched
ignore 2 300
continue
delete
set can-use-hw-watchpoints 0
watch watched
ignore 3 30
continue
kill
