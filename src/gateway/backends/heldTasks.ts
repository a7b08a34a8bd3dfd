/**
 * Tasks that live in a session or process of a caller. Their link stays open while they run, and requests about them go
 * there. Servers may number the tasks of each session, so the gateway names a task `@UUID/ID`.
 */
import { randomUUID } from 'node:crypto'
import { hasEnded, isObject, isTaskStatus, type Json, RemoteError, unref } from '../../protocol/index.ts'
import { BackendError, SessionForgotten, taskLost } from '../errors.ts'
import type { Link } from '../links/link.ts'
import type { Relayed } from '../links/relayed.ts'

interface HeldTask {
  readonly link: Link
  readonly owner: string
  /** The server's id of the task. */
  readonly id: string
  readonly release: () => void
  /** Retention after each request for the task. */
  readonly keptMs: number
  timer: ReturnType<typeof setTimeout>
}

/** A request for a held task, as it is sent to the server. */
export interface HeldRequest {
  readonly link: Link
  readonly relayed: Relayed
}

const NAME = /^@[\da-f-]{36}\//

export class HeldTasks {
  readonly #held = new Map<string, HeldTask>()
  readonly #server: string
  readonly #unaskedMs: number

  /** Drops a task that gets no request for `unaskedMs`, or for its ttl. */
  constructor(server: string, unaskedMs: number) {
    this.#server = server
    this.#unaskedMs = unaskedMs
  }

  /** Returns undefined if the request is for no held task. */
  requestFor(relayed: Relayed): HeldRequest | undefined {
    const name = namedIn(relayed)
    if (name === undefined || !NAME.test(name)) return undefined
    const held = this.#held.get(name)
    if (held === undefined || held.link.isClosed || held.owner !== ownerOf(relayed)) throw this.lost()
    clearTimeout(held.timer)
    held.timer = this.#giveUpLater(name, held.keptMs)
    return { link: held.link, relayed: { ...relayed, params: { ...relayed.params, taskId: held.id } } }
  }

  /** Keeps the link open if the result creates a task, and returns the result with the task's name. */
  keep(relayed: Relayed, result: Json, link: Link, hold: () => () => void): Json {
    const task = createdIn(relayed, result)
    if (task === undefined) return result
    const name = `@${randomUUID()}/${task.taskId}`
    const keptMs = Math.min(this.#unaskedMs, ttlMsOf(task))
    this.#held.set(name, {
      link,
      owner: ownerOf(relayed),
      id: task.taskId,
      release: hold(),
      keptMs,
      timer: this.#giveUpLater(name, keptMs),
    })
    const named = { ...task, taskId: name }
    return result['resultType'] === 'task' ? named : { ...result, task: named }
  }

  /** Records the answer to a request for a task. After the last one the link stays open only for repeated reads. */
  answered(relayed: Relayed, answer: Json | RemoteError): void {
    const held = this.#held.get(namedIn(relayed) ?? '')
    if (held !== undefined && isLast(relayed, answer, held.link)) held.release()
  }

  /**
   * The tasks that a server lists for a link, under their names at the gateway. Tasks that were not created through the
   * gateway are left out.
   */
  listed({ method }: Relayed, result: Json, link: Link): Json {
    const { tasks } = result
    if (method !== 'tasks/list' || !Array.isArray(tasks)) return result
    const names = new Map([...this.#held].flatMap(([name, held]) => (held.link === link ? [[held.id, name]] : [])))
    const known = tasks.flatMap((task: unknown) => {
      const name = isTask(task) ? names.get(task.taskId) : undefined
      return isTask(task) && name !== undefined ? [{ ...task, taskId: name }] : []
    })
    return { ...result, tasks: known }
  }

  /** The error for a task that was lost with its link. */
  lost(): BackendError {
    return taskLost(this.#server, 'a session or process')
  }

  close(): void {
    for (const { timer } of this.#held.values()) clearTimeout(timer)
    this.#held.clear()
  }

  #giveUpLater(name: string, ms: number): ReturnType<typeof setTimeout> {
    const giveUp = (): void => {
      this.#held.get(name)?.release()
      this.#held.delete(name)
    }
    return unref(setTimeout(giveUp, ms))
  }
}

/**
 * In the session era `tasks/result` delivers the result of an ended task, or its error. It counts as the last request
 * only once a client has the result: the gateway sends it early, because servers ask questions only during that
 * request.
 */
function isLast({ method, isDelivered }: Relayed, answer: Json | RemoteError, { era }: Link): boolean {
  if (answer instanceof SessionForgotten) return true
  if (isDelivered?.() === false) return false
  if (answer instanceof RemoteError) return method === 'tasks/result' && !(answer instanceof BackendError)
  const { status } = answer
  if (era === 'legacy') return method === 'tasks/result' || status === 'cancelled'
  return isTaskStatus(status) && hasEnded(status)
}

/** The two dialects name the ttl differently. */
function ttlMsOf({ ttl, ttlMs = ttl }: Json): number {
  return typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : Infinity
}

/** By principal, which may come back in another session. */
function ownerOf({ principal, peer }: Relayed): string {
  return JSON.stringify(principal === undefined ? { session: peer.session } : { principal: principal.id })
}

function namedIn({ method, params }: Relayed): string | undefined {
  const { taskId } = params
  return method.startsWith('tasks/') && typeof taskId === 'string' ? taskId : undefined
}

function createdIn({ method, params }: Relayed, result: Json): (Json & { taskId: string }) | undefined {
  if (method !== 'tools/call') return undefined
  const task = result['resultType'] === 'task' ? result : isObject(params['task']) ? result['task'] : undefined
  return isTask(task) ? task : undefined
}

function isTask(value: unknown): value is Json & { taskId: string } {
  return isObject(value) && typeof value['taskId'] === 'string'
}
