/** The echo tool of SEP-2322's persistent workflow, and a server of both eras that has it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import { sqliteTasks, type SqliteTasksOptions } from 'pannier/tasks'
import { onTestFinished } from 'vitest'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** As the SEP prints it: one text, asked for by the task. */
const echoForm = {
  message: 'Please provide the input string to echo back',
  schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
} as const

export function offerEcho(server: Server): Server {
  return server.tool('echo', { description: 'Says it again.', task: 'optional' }, async (_, ctx) => {
    const { input } = (await ctx.ask('echo_input', echoForm)) as { input: string }
    return { isError: false, content: [{ type: 'text', text: `Echo: ${input}` }] }
  })
}

/** A path for a store that is removed after the test. */
export function storePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-tasks-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'tasks.db')
}

export type TaskServerOptions = Partial<ServerOptions> & { readonly tasksIn?: Partial<SqliteTasksOptions> }

/** A server with tasks in a file of its own, gone after the test. */
export function taskServer({ tasksIn = {}, ...options }: TaskServerOptions = {}): Server {
  const tasks = sqliteTasks({ path: storePath(), pollMs: 100, ...tasksIn })
  const server = createServer({ name: 'task-test', version: '1', logger: silent, tasks, ...options })
  onTestFinished(() => server.drain({ deadlineMs: 1000 }))
  return server
}

/** Where it listens. */
export async function listening(server: Server): Promise<string> {
  return (await server.listen({ port: 0, drainOnTerm: false })).url
}
