// Command pod is what containers of the tests run: with the word serve a web server that says hello, else a program that
// waits until it is asked to end, as the container that holds a pod's namespaces does.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		hello := func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintln(answer, "hello") }
		log.Fatal(http.ListenAndServe(":8080", http.HandlerFunc(hello)))
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	<-asked
}
