// lineside: asks the daemon before a tool of OpenCode runs, and tells it what happens.
// Written by `lineside install opencode`, and removed by `lineside uninstall opencode`. It holds no policy.
import { spawn } from "node:child_process"
import { existsSync, lstatSync, realpathSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { dirname, join } from "node:path"

// Where the daemon is, as `lineside install` has found it; nothing of the environment chooses another one.
const SOCKET = ""
const STATE = ""
// What starts the daemon, in an environment of its own.
const START = []

// OpenCode waits for a plugin without a limit of its own.
const LIMIT = 59_000
// The version of what is spoken with the daemon.
const PROTOCOL = "1"
const UNREACHABLE = "lineside: the runtime cannot be reached, so this was denied; repair it with: lineside doctor"
const CLASSES = { bash: "shell", write: "write", edit: "edit", read: "read", task: "task" }

// Calls that run beside one another have a connection each.
const agent = new Agent({ keepAlive: true })

// A reason that says more than that nothing was reached.
const denied = (why) => Object.assign(new Error(`lineside: ${why}, so this was denied; repair it with: lineside doctor`), { denied: true })

// What listens is the user's own where socket and folder are, and nobody else may enter the folder.
const verify = () => {
  const named = process.env.LINESIDE_SOCKET
  if (named && named !== SOCKET && realpathSync(named) !== realpathSync(SOCKET)) {
    throw denied("LINESIDE_SOCKET names another daemon than this plugin")
  }
  const [folder, socket, own] = [lstatSync(dirname(SOCKET)), lstatSync(SOCKET), process.getuid()]
  if (!folder.isDirectory() || folder.mode & 0o077 || folder.uid !== own || !socket.isSocket() || socket.uid !== own) {
    throw denied("the socket of the daemon or its folder may be another user's")
  }
}

// A daemon that has not answered after a second is asked whether it lives; hooks may take their time.
const live = (call) => {
  const late = setTimeout(() => {
    probe.destroy()
    call.destroy(denied("the daemon does not answer"))
  }, 1_000)
  const probe = request({ socketPath: SOCKET, path: "/v1/health", agent: false }, (response) => {
    clearTimeout(late)
    response.resume()
  })
  probe.on("error", () => {})
  probe.end()
}

const inTime = (until, work) =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("no answer in time")), until - Date.now())
    work.then(resolve, reject).finally(() => clearTimeout(late))
  })

// Whether nothing listens. A connection that was kept ends with its daemon in as many words as there are runtimes.
const absent = () =>
  new Promise((resolve) => {
    const socket = connect(SOCKET, () => resolve(!socket.destroy()))
    socket.on("error", () => resolve(true))
  })

// One start at a time; what cannot be started is not reached either.
let starting
const start = () =>
  (starting ??= new Promise((resolve) => {
    const child = spawn(START[0], START.slice(1), { cwd: "/", env: {}, stdio: "ignore" })
    child.on("error", resolve).on("exit", resolve)
  }).finally(() => (starting = undefined)))

const ask = (document, until = Date.now() + LIMIT) =>
  send(document, until).catch(async (error) => {
    if (START.length === 0 || error.denied || !(await inTime(until, absent()))) throw error
    await inTime(until, start())
    return send(document, until)
  })

const send = (document, until) =>
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
    verify()
    const call = request({ socketPath: SOCKET, agent, method: "POST", path: "/v1/hosts/opencode", headers })
    const late = setTimeout(() => call.destroy(new Error("no answer in time")), left)
    const sign = setTimeout(() => live(call), 1_000)
    const fail = (error) => {
      clearTimeout(late)
      clearTimeout(sign)
      reject(error)
    }
    call.on("error", fail)
    call.on("response", (response) => {
      clearTimeout(sign)
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
    const answer = (told.get(root) ?? Promise.resolve()).then(() => ask(document))
    const after = answer.catch(() => {})
    told.set(root, after)
    after.then(() => told.get(root) === after && told.delete(root))
    return answer
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
          tell(about(type, info.id, { cwd: info.directory ?? directory, title: info.title })).catch(() => {})
        } else if (/^(session\.(idle|error|deleted)|permission\.)/.test(type)) {
          tell(about(type, properties?.sessionID ?? info?.id, { properties })).catch(() => {})
        }
      } catch {}
    },
    "chat.message": async (input, output) => {
      try {
        const texts = output.parts.filter((part) => part.type === "text").map((part) => part.text)
        const answer = tell(about("chat.message", input.sessionID, { prompt: texts.join("\n\n") }))
        const { context } = await inTime(Date.now() + LIMIT, answer)
        const last = output.parts.at(-1)
        // Its id comes behind that of the last part, as the host sorts them.
        if (context !== undefined) output.parts.push({ ...last, id: `${last.id}z`, type: "text", text: context, synthetic: true })
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
      } catch (error) {
        if (existsSync(join(STATE, "off"))) return
        throw error.denied ? error : new Error(UNREACHABLE)
      }
      if (answer.throw !== undefined) throw new Error(answer.throw)
    },
    "tool.execute.after": async (input, output) => {
      try {
        const fields = { ...call(input, input.args), tool_output: output.output }
        const answer = await asked(about("tool.execute.after", input.sessionID, fields))
        if (answer.output !== undefined) output.output = answer.output
        if (answer.context !== undefined) output.output += `\n\n${answer.context}`
      } catch {}
    },
  }
}
