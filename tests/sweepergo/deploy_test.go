package sweepergo

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/queenkv/queenkv/tests/testdb"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// environment is what a container is given, with the connection string in place of the Secret.
func environment(t *testing.T, c corev1.Container, url string) (env []string) {
	t.Helper()
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil {
			if v.ValueFrom.SecretKeyRef == nil || v.Name != "DATABASE_URL" {
				t.Fatalf("a variable of an unknown kind: %+v", v)
			}
			value = url
		}
		env = append(env, v.Name+"="+value)
	}
	return env
}

func container(t *testing.T, all []corev1.Container) corev1.Container {
	t.Helper()
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == "kv-sweeper" })
	if i < 0 {
		t.Fatal("no container kv-sweeper")
	}
	return all[i]
}

// The CronJob has no field that Kubernetes doesn't know, and the program drains with its arguments and environment.
func TestKubernetesCronJob(t *testing.T) {
	t.Parallel()
	var job batchv1.CronJob
	if err := yaml.UnmarshalStrict([]byte(read(t, "kubernetes/cronjob.yaml")), &job); err != nil {
		t.Fatal(err)
	}
	if job.APIVersion != "batch/v1" || job.Kind != "CronJob" || job.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		t.Errorf("%s %s %s", job.APIVersion, job.Kind, job.Spec.ConcurrencyPolicy)
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	db := testdb.New(t, nil)
	fill(t, db, 50)
	c := container(t, pod.Containers)
	e := play(t, environment(t, c, db.URLAs(t, grantee(t, db, "sweeper"))), c.Args...)
	if r := result(t, e); e.status != 0 || r.Deleted != 50 {
		t.Errorf("%+v", e)
	}
	if pod.RestartPolicy != corev1.RestartPolicyNever || pod.SecurityContext == nil || !*pod.SecurityContext.RunAsNonRoot {
		t.Error("it would be restarted, or be root")
	}
	if err := yaml.UnmarshalStrict([]byte(strings.Replace(read(t, "kubernetes/cronjob.yaml"), "schedule:", "shedule:", 1)), &job); err == nil {
		t.Error("a misspelt field passes")
	}
}

// The sidecar's program answers its probe at the port that is declared.
func TestKubernetesSidecar(t *testing.T) {
	t.Parallel()
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(read(t, "kubernetes/sidecar.yaml")), &d); err != nil {
		t.Fatal(err)
	}
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" {
		t.Errorf("%s %s", d.APIVersion, d.Kind)
	}
	c := container(t, d.Spec.Template.Spec.Containers)
	if len(c.Ports) != 1 || c.Ports[0].ContainerPort != 9464 || d.Spec.Template.Annotations["prometheus.io/port"] != "9464" ||
		c.LivenessProbe.HTTPGet.Port.StrVal != c.Ports[0].Name {
		t.Errorf("ports: %+v, %+v", c.Ports, c.LivenessProbe)
	}
	args := slices.Clone(c.Args)
	i := slices.Index(args, ":9464")
	if i < 1 || args[i-1] != "--listen" || args[0] != "run" {
		t.Fatalf("args %q", args)
	}
	args[i] = "127.0.0.1:0" // a port that is free here
	db := testdb.New(t, nil)
	fill(t, db, 50)
	r := &running{cmd: command(t, environment(t, c, db.URLAs(t, grantee(t, db, "sweeper"))), args...), log: &lines{}, done: make(chan struct{})}
	r.cmd.Stderr = r.log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.done) }()
	defer func() { _ = r.cmd.Process.Kill(); <-r.done }()
	eventually(t, "it listens", func() bool {
		for line := range strings.Lines(r.log.String()) {
			var l struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "listening" {
				r.address = l.Address
			}
		}
		return r.address != ""
	})
	if status, body := r.get(t, c.LivenessProbe.HTTPGet.Path); status != 200 {
		t.Errorf("the probe: %d %s", status, body)
	}
	eventually(t, "it sweeps", func() bool { expired, _ := count(t, db); return expired == 0 })
}

// setting is the value of a line NAME=value in a unit; the units here set each name once.
func setting(t *testing.T, unit, name string) string {
	t.Helper()
	for line := range strings.Lines(unit) {
		if value, found := strings.CutPrefix(line, name+"="); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s=", name)
	return ""
}

// What the units execute is executed here, and their environment file read as systemd would.
func TestSystemdCommands(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 50)
	words := strings.Fields(setting(t, read(t, "systemd/kv-sweeper-once.service"), "ExecStart"))
	if words[0] != "/usr/local/bin/kv-sweeper" {
		t.Errorf("ExecStart begins with %s", words[0])
	}
	env := connection(db.URLAs(t, grantee(t, db, "sweeper")))
	if e := play(t, env, words[1:]...); e.status != 0 || !strings.HasPrefix(e.out, "drained: deleted 50 rows") {
		t.Errorf("once: %+v", e)
	}
	other := testdb.New(t, nil)
	fill(t, other, 50)
	words = strings.Fields(setting(t, read(t, "systemd/kv-sweeper.service"), "ExecStart"))
	start(t, append(connection(other.URL()), "KV_SWEEPER_LISTEN=127.0.0.1:0"), append(words[2:], "--listen", "127.0.0.1:0")...)
	eventually(t, "it sweeps", func() bool { expired, _ := count(t, other); return expired == 0 })
	if status := setting(t, read(t, "systemd/kv-sweeper-once.service"), "SuccessExitStatus"); status != "3" {
		t.Errorf("SuccessExitStatus %s", status)
	}
}

// systemd's own judgement, with the program where the units want it.
func TestSystemdVerify(t *testing.T) {
	t.Parallel()
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		testdb.NotRun(t, "no systemd-analyze")
	}
	dir := t.TempDir()
	units := []string{"kv-sweeper.service", "kv-sweeper-once.service", "kv-sweeper-once.timer"}
	check := func(change func(string) string) string {
		args := []string{"verify", "--man=no", "--recursive-errors=no"}
		for _, u := range units {
			text := strings.ReplaceAll(read(t, "systemd/"+u), "/usr/local/bin/kv-sweeper", program(t))
			if err := os.WriteFile(filepath.Join(dir, u), []byte(change(text)), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, filepath.Join(dir, u))
		}
		out, err := exec.CommandContext(t.Context(), verify, args...).CombinedOutput()
		if err != nil {
			return err.Error() + "\n" + string(out)
		}
		return string(out)
	}
	if out := check(func(s string) string { return s }); out != "" {
		t.Errorf("systemd-analyze verify:\n%s", out)
	}
	if out := check(func(s string) string { return strings.Replace(s, "Restart=always", "Restrat=always", 1) }); !strings.Contains(out, "Restrat") {
		t.Errorf("a misspelt setting passes: %q", out)
	}
}

// The line is given to a shell as cron would, with a file of the environment and the program in their places.
func TestCronLine(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 50)
	text := read(t, "cron/kv-sweeper")
	fields := strings.SplitN(strings.TrimSpace(text[strings.LastIndex(text, "\n* ")+1:]), " ", 7)
	if len(fields) != 7 || strings.Join(fields[:6], " ") != "* * * * * kv-sweeper" || strings.Contains(fields[6], "%") {
		t.Fatalf("the line is %q", fields) // a % would end it
	}
	env := filepath.Join(t.TempDir(), "env")
	shell := func(url string) (status int, out string) {
		if err := os.WriteFile(env, []byte("DATABASE_URL='"+url+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		line := strings.NewReplacer("/etc/kv-sweeper.env", env, "/usr/local/bin/kv-sweeper", program(t)).Replace(fields[6])
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", line)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	if status, out := shell(db.URL()); status != 0 || out != "" {
		t.Errorf("status %d: %s", status, out)
	}
	if expired, _ := count(t, db); expired != 0 {
		t.Errorf("%d rows are left", expired)
	}
	if status, out := shell("postgres://127.0.0.1:1/x"); status != 1 || strings.Count(out, "\n") != 1 {
		t.Errorf("no server: status %d: %s", status, out)
	}
}

// The image is built where a daemon answers, and its program run: it drains a database with nothing around it but its own file.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	docker, err := exec.LookPath("docker")
	if err == nil {
		err = exec.CommandContext(t.Context(), docker, "info").Run()
	}
	if err != nil {
		testdb.NotRun(t, "the image is not built: no Docker daemon answers")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(program(t)))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(read(t, "Dockerfile")), 0o644); err != nil {
		t.Fatal(err)
	}
	const tag = "kv-sweeper:test"
	run := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), docker, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("build", "-t", tag, dir)
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", "-f", tag).Run() })
	if out := run("run", "--rm", "--network", "none", tag, "--version"); out != "v0.0.0-test\n" {
		t.Errorf("the version in the image: %q", out)
	}
	if user := strings.TrimSpace(run("inspect", "--format", "{{.Config.User}}", tag)); user != "65532:65532" {
		t.Errorf("the user of the image: %q", user)
	}
	db := testdb.New(t, nil)
	fill(t, db, 50)
	out := run("run", "--rm", "--read-only", "--cap-drop", "ALL", "--network", "host",
		"-e", "DATABASE_URL="+db.URLAs(t, grantee(t, db, "sweeper")), tag, "once", "--json")
	if r := result(t, ended{out: out}); r.Deleted != 50 {
		t.Errorf("once in the image: %s", out)
	}
	if expired, _ := count(t, db); expired != 0 {
		t.Errorf("%d expired rows are left", expired)
	}
}
