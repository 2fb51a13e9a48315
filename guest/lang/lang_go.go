// SPDX-License-Identifier: MIT

// A Go program: goroutines and channels, select with time-outs, mutexes, maps, slices, defer and panic, garbage collector
// under pressure, floating point, strings, files, and the run time's own signals. Output is the same on every machine.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand"
	"os"
	"os/signal"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	payload     [4]uint64
}

func build(depth int) *node {
	if depth == 0 {
		return &node{payload: [4]uint64{1, 2, 3, 4}}
	}
	return &node{left: build(depth - 1), right: build(depth - 1)}
}

func (n *node) count() int {
	if n == nil {
		return 0
	}
	return 1 + n.left.count() + n.right.count()
}

func collectorUnderPressure() {
	keep := build(12)
	total := 0
	for i := 0; i < 30; i++ {
		total += build(10).count() // garbage at once
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Println("gc", total, keep.count(), stats.NumGC > 0, stats.Mallocs > 60000)
}

func pipeline() {
	numbers := make(chan int, 16)
	squares := make(chan int)
	var group sync.WaitGroup
	go func() {
		for i := 1; i <= 5000; i++ {
			numbers <- i
		}
		close(numbers)
	}()
	for w := 0; w < 8; w++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := range numbers {
				squares <- n * n
			}
		}()
	}
	go func() { group.Wait(); close(squares) }()
	sum := 0
	for s := range squares {
		sum += s
	}
	fmt.Println("pipeline", sum)
}

func primes() {
	source := make(chan int)
	go func(out chan int) {
		for i := 2; ; i++ {
			out <- i
		}
	}(source)
	var found []int
	for i := 0; i < 50; i++ { // a chain of goroutines, one for each prime
		prime := <-source
		found = append(found, prime)
		next := make(chan int)
		go func(in, out chan int, prime int) {
			for n := range in {
				if n%prime != 0 {
					out <- n
				}
			}
		}(source, next, prime)
		source = next
	}
	fmt.Println("primes", found[len(found)-1], len(found))
}

func timeouts() {
	never := make(chan int)
	start := time.Now()
	select {
	case <-never:
		fmt.Println("impossible")
	case <-time.After(10 * time.Millisecond):
	}
	ticker := time.NewTicker(2 * time.Millisecond)
	for i := 0; i < 5; i++ {
		<-ticker.C
	}
	ticker.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	fmt.Println("time-outs", time.Since(start) >= 20*time.Millisecond, ctx.Err())
}

func sharing() {
	var mutex sync.RWMutex
	var counter int64
	table := map[string]int{}
	var group sync.WaitGroup
	for g := 0; g < 16; g++ {
		group.Add(1)
		go func(g int) {
			defer group.Done()
			for i := 0; i < 500; i++ {
				key := fmt.Sprintf("key-%d", (g*31+i)%97)
				mutex.Lock()
				table[key]++
				mutex.Unlock()
				mutex.RLock()
				_ = table["key-0"]
				mutex.RUnlock()
				atomic.AddInt64(&counter, 1)
				if i%50 == 0 {
					runtime.Gosched()
				}
			}
		}(g)
	}
	group.Wait()
	sum := 0
	for _, n := range table {
		sum += n
	}
	fmt.Println("sharing", counter, len(table), sum)
}

var errSentinel = errors.New("sentinel")

func recovered(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return "nothing"
}

func panics() {
	var empty []int
	var nothing *node
	zero := 0
	fmt.Println(recovered(func() { panic("own") }))
	fmt.Println(recovered(func() { _ = empty[3] }))
	fmt.Println(recovered(func() { _ = nothing.payload[0] })) // SIGSEGV turned into a panic
	fmt.Println(recovered(func() { _ = 1 / zero }))
	wrapped := fmt.Errorf("wrapped: %w", errSentinel)
	fmt.Println(errors.Is(wrapped, errSentinel), wrapped)
}

func preemption() {
	old := runtime.GOMAXPROCS(1)
	var stop int32
	done := make(chan bool)
	go func() { // a loop without calls: only a signal can take the processor from it
		for atomic.LoadInt32(&stop) == 0 {
		}
		done <- true
	}()
	time.Sleep(time.Millisecond)
	atomic.StoreInt32(&stop, 1)
	<-done
	runtime.GOMAXPROCS(old)
	fmt.Println("preempted")
}

func arithmetic() {
	random := rand.New(rand.NewSource(99))
	values := make([]float64, 1000)
	for i := range values {
		values[i] = random.NormFloat64()
	}
	sort.Float64s(values)
	sum := 0.0
	for _, v := range values {
		sum += math.Sin(v) * math.Exp(-v*v)
	}
	factorial := big.NewInt(1)
	for i := int64(2); i <= 100; i++ {
		factorial.Mul(factorial, big.NewInt(i))
	}
	fmt.Printf("arithmetic %.10f %.6f %s\n", sum, math.FMA(1.5, 2.5, math.Sqrt(2)), factorial.String()[:20])
}

func text() {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	for i := 0; i < 2000; i++ {
		fmt.Fprintf(writer, "line %d of the text\n", i)
	}
	writer.Close()
	reader, _ := gzip.NewReader(&buffer)
	plain, _ := io.ReadAll(reader)
	fmt.Printf("text %d %x\n", len(plain), sha256.Sum256(plain))
	encoded, _ := json.Marshal(map[string]interface{}{"b": []int{1, 2, 3}, "a": "x", "c": 1.5})
	fmt.Println(string(encoded), strings.Repeat("ab", 3))
	if err := os.WriteFile("lang-go.txt", plain, 0o600); err != nil {
		fmt.Println(err)
	}
	file, _ := os.Open("lang-go.txt")
	n := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); n++ {
	}
	file.Close()
	os.Remove("lang-go.txt")
	_, err := os.Stat("lang-go.txt")
	fmt.Println("lines", n, os.IsNotExist(err))
}

func signals() {
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println("signal", <-received)
	signal.Stop(received)
}

func main() {
	pipeline()
	primes()
	timeouts()
	sharing()
	panics()
	preemption()
	collectorUnderPressure()
	arithmetic()
	text()
	signals()
	fmt.Println(runtime.GOARCH == "riscv64" || len(os.Args) > 5, runtime.NumCPU() > 0)
	os.Exit(7)
}
