// lineside: asks the daemon before a tool of OpenCode runs, and tells it what happens.
// Written by `lineside install opencode`, and removed by `lineside uninstall opencode`. It holds no policy.
import { existsSync } from "node:fs"
import { Agent, request } from "node:http"
import { isAbsolute, join } from "node:path"

// OpenCode waits for a plugin without a limit of its own.
const LIMIT = 59_000
// The version of what is spoken with the daemon.
const PROTOCOL = "1"
const UNREACHABLE = "lineside: the runtime cannot be reached, so this was denied; repair it with: lineside doctor"
const CLASSES = { bash: "shell", write: "write", edit: "edit", read: "read", task: "task" }

// Calls that run beside one another have a connection each.
const agent = new Agent({ keepAlive: true })

const place = (name) => {
  const value = process.env[name]
  return value && isAbsolute(value) ? value : undefined
}

const state = () => join(place("XDG_STATE_HOME") ?? join(place("HOME") ?? "/", ".local/state"), "lineside")

const socket = () => {
  const runtime = place("XDG_RUNTIME_DIR")
  return place("LINESIDE_SOCKET") ?? (runtime ? join(runtime, "lineside/lineside.sock") : join(state(), "lineside.sock"))
}

const inTime = (until, work) =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("no answer in time")), until - Date.now())
    work.then(resolve, reject).finally(() => clearTimeout(late))
  })

const ask = (document, until = Date.now() + LIMIT) =>
  new Promise((resolve, reject) => {
    const left = until - Date.now()
    if (left <= 1_000) throw new Error("no time is left")
    const body = Buffer.from(JSON.stringify(document))
    const headers = {
      host: "localhost",
      "content-type": "application/json",
      "content-length": body.length,
      "lineside-protocol": PROTOCOL,
      "lineside-within-ms": left - 1_000,
    }
    if (process.env.LINESIDE_GRANT) headers["lineside-grant"] = process.env.LINESIDE_GRANT
    const call = request({ socketPath: socket(), agent, method: "POST", path: "/v1/hosts/opencode", headers })
    const late = setTimeout(() => call.destroy(new Error("no answer in time")), left)
    const fail = (error) => {
      clearTimeout(late)
      reject(error)
    }
    call.on("error", fail)
    call.on("response", (response) => {
      const parts = []
      response.on("data", (part) => parts.push(part))
      response.on("error", fail)
      response.on("end", () => {
        clearTimeout(late)
        try {
          // What is missing is never taken for none; of a header that stands there twice the values are joined.
          const { "lineside-protocol": version, "lineside-stdout-bytes": length, "content-length": whole } = response.headers
          const body = Buffer.concat(parts)
          if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
          if (version !== PROTOCOL) throw new Error("another protocol")
          if (!/^\d+$/.test(length) || Number(whole) !== body.length || Number(length) > body.length) throw new Error("no length")
          const text = body.subarray(0, Number(length)).toString().trim()
          resolve(text ? JSON.parse(text) : {})
        } catch (error) {
          reject(error)
        }
      })
    })
    call.end(body)
  })

export const Lineside = async ({ directory }) => {
  // The sessions of subagents, each with that of its main agent.
  const children = new Map()
  const about = (name, id, fields) => {
    const child = children.get(id)
    const where = child ? { session_id: child.root, agent_id: id, agent_type: child.type } : { session_id: id }
    return { hook_event_name: name, ...where, cwd: directory, ...fields }
  }
  // What is told of a session arrives in its order, and before the calls that follow it.
  const told = new Map()
  const tell = (document) => {
    const root = document.session_id
    const after = (told.get(root) ?? Promise.resolve()).then(() => ask(document)).catch(() => {})
    told.set(root, after)
    after.then(() => told.get(root) === after && told.delete(root))
  }
  const asked = async (document) => {
    const until = Date.now() + LIMIT
    await inTime(until, Promise.resolve(told.get(document.session_id)))
    return ask(document, until)
  }
  const call = (input, args) => ({
    tool_name: input.tool,
    tool_call_id: input.callID,
    tool_class: CLASSES[input.tool],
    tool_input: args,
  })
  return {
    event: async ({ event }) => {
      try {
        const { type, properties } = event
        const info = properties?.info
        if (type === "session.created") {
          if (info.parentID) {
            const root = children.get(info.parentID)?.root ?? info.parentID
            children.set(info.id, { root, type: info.agent })
          }
          tell(about(type, info.id, { cwd: info.directory ?? directory, title: info.title }))
        } else if (/^(session\.(idle|error|deleted)|permission\.)/.test(type)) {
          tell(about(type, properties?.sessionID ?? info?.id, { properties }))
        }
      } catch {}
    },
    "chat.message": async (input, output) => {
      try {
        const texts = output.parts.filter((part) => part.type === "text").map((part) => part.text)
        tell(about("chat.message", input.sessionID, { prompt: texts.join("\n\n") }))
      } catch {}
    },
    "tool.execute.before": async (input, output) => {
      let answer
      try {
        answer = await asked(about("tool.execute.before", input.sessionID, call(input, output.args)))
        if (answer.args) {
          for (const name of Object.keys(output.args)) if (!(name in answer.args)) delete output.args[name]
          Object.assign(output.args, answer.args)
        }
      } catch {
        if (existsSync(join(state(), "off"))) return
        throw new Error(UNREACHABLE)
      }
      if (answer.throw !== undefined) throw new Error(answer.throw)
    },
    "tool.execute.after": async (input, output) => {
      try {
        const fields = { ...call(input, input.args), tool_output: output.output }
        const answer = await asked(about("tool.execute.after", input.sessionID, fields))
        if (answer.output !== undefined) output.output = answer.output
      } catch {}
    },
  }
}
