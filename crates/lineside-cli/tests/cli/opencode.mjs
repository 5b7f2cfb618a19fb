// Stands for OpenCode: calls the hooks of the plugin as it does, and prints what came of them.
import { writeFile } from "node:fs/promises"

const [path, scene, pipe] = process.argv.slice(2)
const { Lineside } = await import(path)
const plugin = await Lineside({ directory: process.cwd() })

const before = async (sessionID, callID, command) => {
  const given = { command, timeout: 5 }
  const output = { args: given }
  try {
    await plugin["tool.execute.before"]({ tool: "bash", sessionID, callID }, output)
    return output.args === given ? given : "another object"
  } catch (error) {
    return error.message
  }
}
const after = async (sessionID, callID, command, printed) => {
  const output = { title: "", metadata: {}, output: printed }
  await plugin["tool.execute.after"]({ tool: "bash", sessionID, callID, args: { command } }, output)
  return output.output
}
const created = (info) => plugin.event({ event: { type: "session.created", properties: { info } } })
const prompt = (sessionID, text) => plugin["chat.message"]({ sessionID }, { parts: [{ type: "text", text }] })

const scenes = {
  async whole() {
    await created({ id: "s1", directory: process.cwd(), title: "t" })
    await prompt("s1", "please")
    const said = [await before("s1", "c1", "ls"), await before("s1", "c2", "rm x"), await before("s1", "c3", "echo one")]
    said.push(await after("s1", "c3", "echo ONE", "leaky"))
    await created({ id: "s2", parentID: "s1", directory: process.cwd(), title: "t", agent: "general" })
    said.push(await before("s2", "c4", "rm y"))
    // What is told arrives before the calls behind it, without being waited for.
    prompt("s1", "forbidden")
    said.push(await before("s1", "c5", "ls"))
    return said
  },
  async beside() {
    const slow = before("s1", "c1", "slow")
    const quick = await before("s1", "c2", "ls")
    await writeFile(pipe, "go")
    return [await slow, quick]
  },
  async context() {
    const output = { parts: [{ id: "prt_1", type: "text", text: "please hint" }] }
    await plugin["chat.message"]({ sessionID: "s1" }, output)
    return [output.parts, await after("s1", "c1", "ls", "printed")]
  },
  async gone() {
    return [await before("s1", "c1", "ls"), await after("s1", "c1", "ls", "kept")]
  },
}
process.stdout.write(JSON.stringify(await scenes[scene]()) + "\n")
process.exit()
