/** What the beginning of a connection tells about tasks: which dialect, and whether calls may ask for one. */
import { isObject, type Json, type RequestId, ROUNDS_CAPABILITY, TASKS_EXTENSION } from '../../protocol/index.ts'
import { paramsOf, type WireAnswer, type WireRequest } from '../layer/message.ts'

export class TaskPeer {
  #greeting: RequestId | undefined
  #client: unknown
  /** Whether a server behind `modern()` speaks the newer dialect, although its client sees a session. */
  hasExtension = false
  /** Whether calls of tools may ask to become tasks, in a session. */
  takesTasks = false
  /** Whether both sides know questions as results. */
  hasRounds = false

  /** A request that begins a session. */
  greet(message: WireRequest): void {
    this.#greeting = message.id
    this.#client = paramsOf(message)['capabilities']
  }

  /** Whether the message is its answer. */
  hear({ id, result }: WireAnswer): boolean {
    if (id !== this.#greeting || !isObject(result)) return false
    const { capabilities } = result
    this.hasExtension = at(capabilities, 'extensions', TASKS_EXTENSION) && !at(capabilities, 'tasks')
    this.takesTasks = !this.hasExtension && at(capabilities, 'tasks', 'requests', 'tools', 'call')
    this.hasRounds = [this.#client, capabilities].every((side) => at(side, 'experimental', ROUNDS_CAPABILITY))
    return true
  }
}

function at(capabilities: unknown, ...path: readonly string[]): boolean {
  const found = path.reduce((value: unknown, key) => (isObject(value) ? (value as Json)[key] : undefined), capabilities)
  return isObject(found)
}
