/** The code of docs/how-to/layers.md. */
// #region imports
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  type Answerers,
  around,
  compose,
  deadline,
  echo,
  echoFetch,
  getTask,
  jar,
  type Layer,
  rounds,
  scope,
  type ScopeOptions,
  scopeFetch,
  type Task,
  taskOf,
  tasks,
  tasksFetch,
  type TasksOptions,
  watchTask,
} from 'pannier/client'
import { type JarOwner, type JarScopeOptions, jarServerOf, type JarStore } from 'pannier/state'

const me = { name: 'my-app', version: '1.0.0' }
// #endregion imports

// #region v2
export async function connectV2(url: string, answerers: Answerers): Promise<Client> {
  const client = new Client(me, { versionNegotiation: { mode: 'auto' } })
  const layers = compose(rounds({ answerers, server: { target: url } }), scope(), deadline(60_000))
  await client.connect(layers(new StreamableHTTPClientTransport(new URL(url), { fetch: echoFetch() })))
  return client
}
// #endregion v2

// #region v1
export async function connectV1(url: string, answerers: Answerers): Promise<ClientV1> {
  const client = new ClientV1(me)
  const layers = compose(rounds({ answerers, server: { target: url } }), scope(), deadline(60_000))
  await client.connect(layers(new HttpV1(new URL(url), { fetch: echoFetch() })))
  return client
}
// #endregion v1

// #region patience
const NO_LIMIT_MS = 2 ** 31 - 1 // the longest time a timer takes, 24 days

/** A person may take any time. `deadline` still ends the call when the server is silent. */
export function callPatiently(client: Client, name: string, args: Record<string, unknown> = {}) {
  return client.callTool({ name, arguments: args }, { timeout: NO_LIMIT_MS })
}

export function callPatientlyV1(client: ClientV1, name: string, args: Record<string, unknown> = {}) {
  return client.callTool({ name, arguments: args }, undefined, { timeout: NO_LIMIT_MS })
}
// #endregion patience

// #region tasks
/** Also follows calls that become tasks. Questions of tasks go to the same answerers as all others. */
export async function connectWithTasks(url: string, options: TasksOptions): Promise<Client> {
  const client = new Client(me, { versionNegotiation: { mode: 'auto' } })
  const { answerers = {}, server = { target: url } } = options
  const layers = compose(rounds({ answerers, server }), tasks({ ...options, server }), scope(), deadline(60_000))
  await client.connect(layers(new StreamableHTTPClientTransport(new URL(url), { fetch: tasksFetch(echoFetch()) })))
  return client
}

/** The work may take any time. The status of its task comes as progress. */
export function callForLong(client: Client, name: string, args: Record<string, unknown>, onTask: (task: Task) => void) {
  const onprogress = (progress: unknown): void => {
    const task = taskOf(progress)
    if (task !== undefined) onTask(task)
  }
  return client.callTool({ name, arguments: args }, { timeout: NO_LIMIT_MS, onprogress })
}
// #endregion tasks

// #region handles
/** For a client with `handle: true`: starts the call, and returns the id of its task if it became one. */
export async function begin(client: Client, name: string, args: Record<string, unknown>): Promise<string | undefined> {
  return taskOf(await client.callTool({ name, arguments: args }))?.taskId
}

/** The status of the task, in any process, now or next week. */
export async function statusOf(client: Client, taskId: string): Promise<string> {
  const { status, statusMessage } = await getTask(client, taskId)
  return statusMessage === undefined ? status : `${status}: ${statusMessage}`
}

/** Follows the task to its end and returns the result of its call. Its questions go to the client's answerers. */
export function finish(client: Client, taskId: string, signal: AbortSignal) {
  return watchTask(client, taskId, { signal })
}
// #endregion handles

// #region jar
/** Keeps state for the server at this address, if a jar may keep state for it. */
export function keeping(
  url: string,
  store: JarStore,
  owner: Omit<JarOwner, 'server'>,
  options?: JarScopeOptions,
): Layer {
  const place = jarServerOf({ url }, options)
  if ('refused' in place) return (transport) => transport
  return jar(store, { ...owner, server: place.server, onNews: (news) => console.warn(news) })
}
// #endregion jar

// #region echo
/** On stdio the layer works on the lines of the process and needs no `fetch`. */
export async function connectProcess(command: string, args: string[], answerers: Answerers): Promise<Client> {
  const client = new Client(me)
  const layers = compose(rounds({ answerers }), scope(), echo())
  await client.connect(layers(new StdioClientTransport({ command, args })))
  return client
}
// #endregion echo

// #region strict
/** Refuses all questions that a server sends on the standalone GET stream. */
export async function connectStrictly(url: string, answerers: Answerers, options: ScopeOptions): Promise<Client> {
  const client = new Client(me)
  const layers = compose(rounds({ answerers }), scope(options))
  await client.connect(
    layers(new StreamableHTTPClientTransport(new URL(url), { fetch: scopeFetch(echoFetch(), options) })),
  )
  return client
}
// #endregion strict

// #region own
/** Logs the method of every message in both directions. */
export function logMethods(log: (line: string) => void): Layer {
  return (transport) =>
    around(transport, (context) => ({
      send(message, options) {
        if (message.method !== undefined) log(`> ${message.method}`)
        return context.send(message, options)
      },
      receive(message, extra) {
        if (message.method !== undefined) log(`< ${message.method}`)
        context.deliver(message, extra)
      },
    }))
}
// #endregion own
