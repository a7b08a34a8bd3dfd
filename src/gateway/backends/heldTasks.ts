/**
 * Tasks that live in a session or process of a caller: its link stays open while they run, and requests about them go
 * there. Servers may number the tasks of each session, so that here a task has a name of its own: `@UUID/ID`.
 */
import { randomUUID } from 'node:crypto'
import { hasEnded, isObject, isTaskStatus, type Json, RemoteError, unref } from '../../protocol/index.ts'
import { BackendError, SessionForgotten, taskLost } from '../errors.ts'
import type { Link } from '../links/link.ts'
import type { Relayed } from '../links/relayed.ts'

interface HeldTask {
  readonly link: Link
  readonly owner: string
  /** The id that the server has given it. */
  readonly id: string
  readonly release: () => void
  /** How long it is kept after each request about it. */
  readonly keptMs: number
  timer: ReturnType<typeof setTimeout>
}

/** A request about a task that is held, as its server is sent it. */
export interface HeldRequest {
  readonly link: Link
  readonly relayed: Relayed
}

const NAME = /^@[\da-f-]{36}\//

export class HeldTasks {
  readonly #held = new Map<string, HeldTask>()
  readonly #server: string
  readonly #unaskedMs: number

  /** A task that nobody asks for in `unaskedMs`, or in the time that its server keeps it, is given up. */
  constructor(server: string, unaskedMs: number) {
    this.#server = server
    this.#unaskedMs = unaskedMs
  }

  /** Undefined where a request is about no task that lives in a link. */
  requestFor(relayed: Relayed): HeldRequest | undefined {
    const name = namedIn(relayed)
    if (name === undefined || !NAME.test(name)) return undefined
    const held = this.#held.get(name)
    if (held === undefined || held.link.isClosed || held.owner !== ownerOf(relayed)) throw this.lost()
    clearTimeout(held.timer)
    held.timer = this.#giveUpLater(name, held.keptMs)
    return { link: held.link, relayed: { ...relayed, params: { ...relayed.params, taskId: held.id } } }
  }

  /** Keeps the link open where the result of a request is a new task, and gives the result with the task's name. */
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

  /** The answer to a request about a task. After its last one, the link is needed only for those who read it again. */
  heard(relayed: Relayed, answer: Json | RemoteError): void {
    const held = this.#held.get(namedIn(relayed) ?? '')
    if (held !== undefined && isLast(relayed, answer, held.link)) held.release()
  }

  /** The tasks that a server lists for a link, by their names here. Those that nobody made here are left out. */
  listed({ method }: Relayed, result: Json, link: Link): Json {
    const { tasks } = result
    if (method !== 'tasks/list' || !Array.isArray(tasks)) return result
    const names = new Map([...this.#held].flatMap(([name, held]) => (held.link === link ? [[held.id, name]] : [])))
    const known = tasks.flatMap((task: unknown) => {
      const name = isObject(task) ? names.get(String(task['taskId'])) : undefined
      return isObject(task) && name !== undefined ? [{ ...task, taskId: name }] : []
    })
    return { ...result, tasks: known }
  }

  /** What is told of a task that was lost with its link. */
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
 * In the session era, the result of a task that has ended is another request, which may end in the task's own error. It is
 * not the last where nobody has got the result yet: the gateway asks for it early, because servers ask only meanwhile.
 */
function isLast({ method, isDelivered }: Relayed, answer: Json | RemoteError, { era }: Link): boolean {
  if (answer instanceof SessionForgotten) return true
  if (isDelivered?.() === false) return false
  if (answer instanceof RemoteError) return method === 'tasks/result' && !(answer instanceof BackendError)
  const { status } = answer
  if (era === 'legacy') return method === 'tasks/result' || status === 'cancelled'
  return isTaskStatus(status) && hasEnded(status)
}

/** Each dialect has a name of its own for it. */
function ttlMsOf({ ttl, ttlMs = ttl }: Json): number {
  return typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : Infinity
}

/** A principal may come back in another session. */
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
