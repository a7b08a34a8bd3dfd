/** What the beginning of a connection tells about tasks: which dialect, and whether calls may ask for one. */
import { isObject, type Json, type RequestId, ROUNDS_CAPABILITY, TASKS_EXTENSION } from '../protocol/index.ts'
import { paramsOf, type WireAnswer, type WireRequest } from './wireMessage.ts'

export class TaskPeer {
  #greeting: RequestId | undefined
  #client: unknown
  #server: unknown

  /** A request that begins a session. */
  greet(message: WireRequest): void {
    this.#greeting = message.id
    this.#client = paramsOf(message)['capabilities']
  }

  /** Whether the message is its answer. */
  hear({ id, result }: WireAnswer): boolean {
    if (id !== this.#greeting || !isObject(result)) return false
    this.#server = result['capabilities']
    return true
  }

  /** Whether a server behind `modern()` speaks the newer dialect, although its client sees a session. */
  get hasExtension(): boolean {
    return at(this.#server, 'extensions', TASKS_EXTENSION) && !at(this.#server, 'tasks')
  }

  /** Whether calls of tools may ask to become tasks, in a session. */
  get takesTasks(): boolean {
    return !this.hasExtension && at(this.#server, 'tasks', 'requests', 'tools', 'call')
  }

  /** Whether both sides know questions as results. */
  get hasRounds(): boolean {
    return [this.#client, this.#server].every((side) => at(side, 'experimental', ROUNDS_CAPABILITY))
  }
}

function at(capabilities: unknown, ...path: readonly string[]): boolean {
  const found = path.reduce((value: unknown, key) => (isObject(value) ? (value as Json)[key] : undefined), capabilities)
  return isObject(found)
}
