// The policies of the runs with real programs, as commands: the name of one is the argument, the event comes on standard
// input. `MODE` beside this file says how the guard misbehaves.
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"

const event = JSON.parse(readFileSync(0, "utf8"))
const mode = readFileSync(new URL("MODE", import.meta.url), "utf8").trim()
const input = JSON.stringify(event.payload.tool_input ?? null)
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n")

const policies = {
  guard() {
    if (!input.includes("mv ./precious")) return
    if (mode === "hangs") return setInterval(() => {}, 1000)
    if (mode === "crashes") return process.kill(process.pid, "SIGKILL")
    if (mode === "garbage") return process.stdout.write('{"verdict": "allow"')
    if (mode === "child") spawn("sleep", ["300"], { stdio: "inherit", detached: true }).unref()
    process.stderr.write("REFUSED-BY-GUARD")
    process.exitCode = 2
  },
  rewrite() {
    if (input.includes("echo one")) say({ amend: { tool_input: JSON.parse(input.replace("echo one", "echo ONE")) } })
  },
  hint() {
    say({ context: "HINT-OF-LINESIDE" })
  },
  finish() {
    if (mode === "tests") return
    if (!event.payload.stop_active) say({ verdict: "block", reason: "NOT-YET-FINISHED" })
  },
  tests() {
    // Under the root of the project, where automations run.
    if (existsSync("red.txt")) {
      process.stdout.write("RED-TESTS\n")
      process.exitCode = 1
    }
  },
}
policies[process.argv[2]]()
