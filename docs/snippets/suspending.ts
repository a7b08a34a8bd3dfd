/** The code of docs/how-to/suspending.md. */
// #region imports
import {
  type Answerer,
  connect,
  type Given,
  plainLine,
  resume,
  type SavedCall,
  savedFile,
  suspend,
  suspendedOf,
  type SuspendOptions,
  type Target,
  targetOf,
} from 'pannier/client'
import { createServer, type Server, type ServerOptions } from 'pannier/server'
// #endregion imports

// #region start
/** A client that waits for no person: questions to people suspend the call. */
export function openClient(target: Target, options: SuspendOptions = {}) {
  return connect(target, { answerers: { form: suspend(options) } })
}

export async function order(item: string, target: Target, options?: SuspendOptions): Promise<Outcome> {
  const client = await openClient(target, options)
  try {
    return outcomeOf(await client.callTool({ name: 'order', arguments: { item } }))
  } finally {
    await client.close()
  }
}

/** Either the call is done, or it waits for an answer, and this text must be stored. */
export type Outcome = { done: unknown } | { waiting: string }

function outcomeOf(result: unknown): Outcome {
  const suspended = suspendedOf(result)
  return suspended === undefined ? { done: result } : { waiting: JSON.stringify(suspended.saved) }
}
// #endregion start

// #region resume
/** Resumes a call, in any process. A client is connected for this call, and closed after it. */
export async function goOn(waiting: string, answers: Record<string, Given> | Answerer): Promise<Outcome> {
  return outcomeOf(await resume(waiting, answers, (saved) => openClient(targetOf(saved))))
}
// #endregion resume

// #region process
/** A server that is started as a process. `env` has its keys, and what else it needs. */
export function orderFrom(item: string, command: string, args: string[], env: Record<string, string>) {
  return order(item, { command, args, env })
}

/** The environment was not saved, so it is given again. */
export async function goOnWith(waiting: string, answers: Record<string, Given>, env: Record<string, string>) {
  return outcomeOf(await resume(waiting, answers, (saved) => openClient(targetOf(saved, { env }))))
}
// #endregion process

// #region log
/** What may be logged: which call it is, and what it waits for. */
export function logLine(result: unknown): string {
  const suspended = suspendedOf(result)
  if (suspended === undefined) return 'The call is done.'
  const { method, server, inputRequests } = suspended.saved
  return plainLine(`${method} at ${server} waits for: ${Object.keys(inputRequests).join(', ')}`)
}
// #endregion log

// #region inbox
/** What an inbox shows: who asks what. The server wrote the messages, so show them as plain text. */
export function questionsIn({ target, inputRequests }: SavedCall) {
  return Object.entries(inputRequests).map(([key, { params }]) => {
    const message = params !== undefined && 'message' in params ? params.message : ''
    return { key, from: target, message }
  })
}
// #endregion inbox

// #region file
export function orderByFile(item: string, target: Target, path: string): Promise<Outcome> {
  return order(item, target, { store: savedFile(path) })
}

export async function goOnByFile(path: string, answers: Record<string, Given>): Promise<Outcome> {
  const store = savedFile(path)
  const result = await resume(await store.load(), answers, (saved) => openClient(targetOf(saved), { store }))
  const outcome = outcomeOf(result)
  if ('done' in outcome) await store.remove()
  return outcome
}
// #endregion file

// #region server
/** A server whose clients may take two weeks for each answer. Its keys come from PANNIER_KEYS. */
export function patientServer(options: Partial<ServerOptions> = {}): Server {
  return createServer({ name: 'shop', version: '1.0.0', ttlSeconds: 14 * 86_400, ...options })
}
// #endregion server
