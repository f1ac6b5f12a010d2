// Serves `kubectl exec` for the pods of a test node: kubernetes_exec FOLDER. It prints its port.
//
// FOLDER/POD/enter runs its arguments in a pod. The streams are those of a real kubelet.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	protocols "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/cert"
	streaming "k8s.io/kubelet/pkg/cri/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

type node struct{ folder string }

func (n node) ExecInContainer(_ context.Context, pod string, _ types.UID, _ string, command []string, in io.Reader, out, err io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	process := exec.Command(filepath.Join(n.folder, pod, "enter"), command...)
	process.Stdout, process.Stderr = out, err
	if in != nil { // the process does not wait for the end of the client's input
		pipe, problem := process.StdinPipe()
		if problem != nil {
			return problem
		}
		go func() { io.Copy(pipe, in); pipe.Close() }()
	}
	problem := process.Run()
	if ended, ok := problem.(*exec.ExitError); ok {
		return &utilexec.CodeExitError{Err: ended, Code: ended.ExitCode()}
	}
	return problem
}

func (n node) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	parts := strings.Split(request.URL.Path, "/") // /exec/NAMESPACE/POD/CONTAINER
	options, problem := streaming.NewOptions(request)
	if problem != nil || len(parts) != 5 || parts[1] != "exec" {
		http.Error(answer, "only exec", http.StatusNotFound)
		return
	}
	streaming.ServeExec(answer, request, n, parts[3], "", parts[4], request.URL.Query()["command"], options, 4*time.Hour, 30*time.Second, protocols.SupportedStreamingProtocols)
}

func main() {
	certificate, key, problem := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	if problem != nil {
		panic(problem)
	}
	pair, _ := tls.X509KeyPair(certificate, key)
	listener, problem := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if problem != nil {
		panic(problem)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() { io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // it ends with its node
	panic(http.Serve(listener, node{os.Args[1]}))
}
