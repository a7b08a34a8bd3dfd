/**
 * Tasks that live in a session or process of a caller: its link stays open while they run, and requests about them go
 * there.
 */
import { hasEnded, isObject, isTaskStatus, type Json, unref } from '../../protocol/index.ts'
import { BackendError } from '../errors.ts'
import type { Link } from '../links/link.ts'
import { callerOf } from './places.ts'
import type { Relayed } from '../links/relayed.ts'

interface HeldTask {
  readonly link: Link
  readonly release: () => void
  timer: ReturnType<typeof setTimeout>
}

export class HeldTasks {
  /** By caller and id: servers may number their tasks. */
  readonly #held = new Map<string, HeldTask>()
  readonly #server: string
  readonly #unaskedMs: number

  /** A task that nobody asks for in `unaskedMs` is given up. */
  constructor(server: string, unaskedMs: number) {
    this.#server = server
    this.#unaskedMs = unaskedMs
  }

  /** The link of the task that a request is about. */
  linkFor(relayed: Relayed): Link | undefined {
    const key = keyOf(relayed)
    const held = key === undefined ? undefined : this.#held.get(key)
    if (held === undefined || key === undefined) return undefined
    clearTimeout(held.timer)
    held.timer = this.#giveUpLater(key)
    return held.link.isClosed ? undefined : held.link
  }

  /** Keeps the link open where the result of a request is a new task. */
  keep(relayed: Relayed, result: Json, link: Link, hold: () => () => void): void {
    const id = createdIn(relayed, result)
    if (id === undefined) return
    const key = `${callerOf(relayed)} ${id}`
    const held = this.#held.get(key)
    // Callers without a name are different people, and one of them would get the task of another.
    if (held !== undefined && held.link !== link && !held.link.isClosed)
      throw new BackendError('BACKEND_INVALID', this.#server, 'gave a task the id of another one.')
    held?.release()
    clearTimeout(held?.timer)
    this.#held.set(key, { link, release: hold(), timer: this.#giveUpLater(key) })
  }

  /** A task that has ended needs its link only for those who read its result. */
  heard(relayed: Relayed, { status }: Json): void {
    const key = isTaskStatus(status) && hasEnded(status) ? keyOf(relayed) : undefined
    if (key !== undefined) this.#held.get(key)?.release()
  }

  close(): void {
    for (const { timer } of this.#held.values()) clearTimeout(timer)
    this.#held.clear()
  }

  #giveUpLater(key: string): ReturnType<typeof setTimeout> {
    return unref(
      setTimeout(() => {
        this.#held.get(key)?.release()
        this.#held.delete(key)
      }, this.#unaskedMs),
    )
  }
}

function keyOf(relayed: Relayed): string | undefined {
  const { taskId } = relayed.params
  const isAboutOne = relayed.method.startsWith('tasks/') && typeof taskId === 'string'
  return isAboutOne ? `${callerOf(relayed)} ${taskId}` : undefined
}

function createdIn({ method, params }: Relayed, result: Json): string | undefined {
  if (method !== 'tools/call') return undefined
  const task = result['resultType'] === 'task' ? result : isObject(params['task']) ? result['task'] : undefined
  return isObject(task) && typeof task['taskId'] === 'string' ? task['taskId'] : undefined
}
