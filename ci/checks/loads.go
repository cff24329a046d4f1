// Dereferences nil as often as the argument says, in a hundred goroutines at once.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

func dereference(pointer *int, recovered *int64) {
	defer func() {
		if recover() != nil {
			atomic.AddInt64(recovered, 1)
		}
	}()
	*pointer++
}

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	var recovered int64
	var group sync.WaitGroup
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < count/100; j++ {
				dereference(nil, &recovered)
			}
		}()
	}
	group.Wait()
	fmt.Println(recovered)
}
