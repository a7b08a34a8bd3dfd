/** Tasks through the gateway: calls that become tasks at a server, and the task methods of both dialects. */
import {
  declaresTasks,
  isObject,
  type Json,
  ProtocolError,
  RemoteError,
  TASKS_EXTENSION,
} from '../../../protocol/index.ts'
import type { TaskHost, TaskListening, Tasks, TaskService } from '../../../server/index.ts'
import { type Call, type MethodParts, taskWing } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { callerOf } from '../../links/callers.ts'
import { FinishedTasks } from './finished.ts'
import { isOver, modernForm, sessionForm } from './forms.ts'
import { ModernTaskSource, requestsTo } from './modernSource.ts'
import { type OwnTaskId, type TaskIds, TaskOwners } from './owners.ts'
import { SessionTaskSource } from './sessionSource.ts'
import { watchTasks } from './watching.ts'
import { listsTasks, requestFor, takesTasks, type TaskSource } from './source.ts'

type Answering = (call: Call) => Promise<string>

/** A task named by a client. */
interface NamedTask {
  readonly backend: Backend
  readonly id: string
  readonly own: OwnTaskId
  readonly exposed: string
}

export interface RelayedTasksOptions {
  readonly backends: () => readonly Backend[]
  readonly ids: TaskIds
  /** A server's result with the addresses that its resources have on this route. */
  readonly addressed: (result: Json, call: Call, backend: Backend) => Json
}

export class RelayedTasks implements Tasks, TaskService {
  readonly wing = taskWing
  readonly #options: RelayedTasksOptions
  readonly #sources = new WeakMap<Backend, TaskSource>()
  readonly #finished = new FinishedTasks()
  readonly #owners = new TaskOwners()
  #host: TaskHost | undefined

  constructor(options: RelayedTasksOptions) {
    this.#options = options
  }

  attach(host: TaskHost): TaskService {
    this.#host = host
    return this
  }

  join(parts: MethodParts): void {
    this.#owners.join(parts)
  }

  capabilities(era: Call['peer']['era']): Json {
    const backends = this.#options.backends()
    if (!backends.some(takesTasks)) return {}
    if (era === 'modern') return { extensions: { [TASKS_EXTENSION]: {} } }
    const list = backends.some(listsOwnTasks) && { list: {} }
    return { tasks: { ...list, cancel: {}, requests: { tools: { call: {} } } } }
  }

  /** The result for the caller of a call that has become a task at a server, or was to become one. */
  shaped(result: Json, call: Call, backend: Backend): Json {
    const { resultType } = result
    const asksForTask = call.peer.era === 'legacy' && isObject(call.params['task'])
    if (resultType === 'task') return this.#created(result, call, backend)
    if (!asksForTask || backend.era === 'legacy' || resultType === 'input_required') return result
    const quotaCaller = this.#host?.holderOf(call) ?? callerOf(call)
    return this.#created(this.#finished.keep(result, call, quotaCaller), call, backend)
  }

  /** The same for the answer of another gateway that owns the task. */
  forwarded(result: Json, call: Call, backend: Backend): Json {
    if (call.peer.era === 'modern') return result
    const { resultType, _meta: meta, ...task } = result
    if (resultType !== 'task') return this.shaped(result, call, backend)
    return { task: sessionForm(task), ...(meta !== undefined && { _meta: meta }) }
  }

  /** The same for a session-era server that was asked for a task. */
  asked(result: Json, call: Call, backend: Backend): Json {
    const { task } = result
    if (!isObject(task) || typeof task['taskId'] !== 'string') return result
    return this.#created(modernForm(task), call, backend)
  }

  #created(task: Json, call: Call, backend: Backend): Json {
    const exposed = { ...task, taskId: this.#exposed(String(task['taskId']), call, backend) }
    return call.peer.era === 'modern' ? { ...exposed, resultType: 'task' } : { task: sessionForm(exposed) }
  }

  #exposed(id: string, { principal }: Call, backend: Backend): string {
    const owner = this.#finished.has(id) ? this.#owners.self : this.#owners.ownerAt(backend)
    return this.#options.ids.exposed({ server: backend.name, id, owner }, principal)
  }

  method({ method, peer, forwardedBy }: Call): Answering | undefined {
    // Another gateway forwards a list in this form for a session-era client.
    const isList = method === 'tasks/list' && forwardedBy
    const here = (peer.era === 'modern' && !isList ? this.#modern : this.#session).get(method)
    return here && (async (call) => (await this.#elsewhere(call)) ?? here(call))
  }

  async #elsewhere(call: Call): Promise<string | undefined> {
    if (call.peer.era !== 'modern') return undefined // a session-era client is answered here: its dialect has other requests, and it is asked here
    const { taskId } = call.params
    const own = typeof taskId === 'string' ? this.#options.ids.resolve(taskId, call.principal) : undefined
    const answer = own && (await this.#owners.answer(call, own))
    return answer && JSON.stringify(answer)
  }

  readonly #modern: ReadonlyMap<string, Answering> = new Map<string, Answering>([
    ['tasks/get', async (call) => this.#write(await this.#whole(call, this.#find(declared(call))), call)],
    [
      'tasks/update',
      async (call) => {
        const found = this.#find(declared(call))
        const { inputResponses } = call.params
        if (!isObject(inputResponses))
          throw new ProtocolError('PARAMS_INVALID', '"params.inputResponses" must be an object.')
        await this.#source(found).answer(call, found.id, inputResponses)
        return this.#write({}, call)
      },
    ],
    [
      'tasks/cancel',
      async (call) => {
        const found = this.#find(declared(call))
        const { id } = found
        const source = this.#source(found)
        // A session-era server refuses to cancel a finished task; for the caller that is no error.
        await source.cancel(call, id).catch(async (error: unknown) => {
          if (!(error instanceof RemoteError) || !isOver(await source.status(call, id))) throw error
        })
        return this.#write({}, call)
      },
    ],
  ])

  readonly #session: ReadonlyMap<string, Answering> = new Map<string, Answering>([
    ['tasks/get', async (call) => JSON.stringify(await this.#status(call, this.#find(call)))],
    [
      'tasks/result',
      async (call) => {
        const found = this.#find(call)
        const result = await this.#source(found).result(call, found.id, found.exposed)
        return this.#write(this.#addressed(result, call, found), call)
      },
    ],
    [
      'tasks/cancel',
      async (call) => {
        const found = this.#find(call)
        if (isOver(await this.#status(call, found)))
          throw new ProtocolError('PARAMS_INVALID', 'The task has already ended, so it cannot be cancelled.')
        await this.#source(found).cancel(call, found.id)
        return JSON.stringify(await this.#status(call, found))
      },
    ],
    [
      'tasks/list',
      async (call) => {
        const { tasks = await this.#list(call) } = (await this.#owners.answerOfPlace(call)) ?? {}
        return JSON.stringify({ tasks })
      },
    ],
  ])

  async listen(call: Call, taskIds: readonly string[], send: (task: Json) => void): Promise<TaskListening> {
    declared(call)
    const found = taskIds.flatMap((id) => this.#resolve(call, id) ?? [])
    const stopped = new AbortController()
    return {
      taskIds: found.map(({ exposed }) => exposed),
      begin: () => {
        const read = (each: NamedTask): Promise<Json> => this.#read(call, each)
        watchTasks(found, read, send, stopped.signal).catch(() => {}) // the client has disconnected
      },
      stop: () => stopped.abort(),
    }
  }

  /** The task, from its owner. */
  async #read(call: Call, found: NamedTask): Promise<Json> {
    const { _meta: meta } = call.params
    const asking = { ...call, method: 'tasks/get', params: { taskId: found.exposed, _meta: meta } }
    const { resultType: _, ...task } =
      (await this.#owners.answer(asking, found.own)) ?? (await this.#whole(call, found))
    return task
  }

  create(): Promise<string> {
    throw new TypeError('The servers behind a route make its tasks.')
  }

  async start(): Promise<void> {}

  serve(): void {}

  async drain(): Promise<void> {}

  async close(): Promise<void> {}

  async #whole(call: Call, found: NamedTask): Promise<Json> {
    const { resultType: _, result, ...task } = await this.#source(found).whole(call, found.id)
    return {
      ...task,
      taskId: found.exposed,
      ...(result !== undefined && { result: isObject(result) ? this.#addressed(result, call, found) : result }),
    }
  }

  #addressed(result: Json, call: Call, { backend, id, own }: NamedTask): Json {
    const isAddressed = this.#owners.isElsewhere(own) || this.#finished.has(id)
    return isAddressed ? result : this.#options.addressed(result, call, backend)
  }

  async #status(call: Call, found: NamedTask): Promise<Json> {
    return { ...(await this.#source(found).status(call, found.id)), taskId: found.exposed }
  }

  /** The tasks of the caller's sessions. On a server that all callers share, the owner of a listed task is unknown. */
  async #list(call: Call): Promise<readonly Json[]> {
    const lists = this.#options
      .backends()
      .filter(listsOwnTasks)
      .map(async (backend) => {
        const listing = requestFor(backend, call, { method: 'tasks/list', params: {} })
        const { tasks } = await listing.catch(() => ({ tasks: [] }))
        const own = (Array.isArray(tasks) ? tasks : []).filter(
          (task): task is Json & { taskId: string } => isObject(task) && typeof task['taskId'] === 'string',
        )
        return own.map((task) => ({ ...task, taskId: this.#exposed(task.taskId, call, backend) }))
      })
    return (await Promise.all(lists)).flat()
  }

  #find(call: Call): NamedTask {
    const { taskId } = call.params
    const found = typeof taskId === 'string' ? this.#resolve(call, taskId) : undefined
    if (found !== undefined) return found
    throw new ProtocolError('PARAMS_INVALID', 'There is no task with this id, or it has expired.')
  }

  #resolve({ principal }: Call, exposed: string): NamedTask | undefined {
    const own = this.#options.ids.resolve(exposed, principal)
    const backend = this.#options.backends().find(({ name }) => name === own?.server)
    if (backend === undefined || own === undefined) return undefined
    return { backend, id: this.#owners.isElsewhere(own) ? exposed : own.id, own, exposed }
  }

  #source({ backend, id, own }: NamedTask): TaskSource {
    if (this.#owners.isElsewhere(own)) return this.#owners.source(own)
    if (this.#finished.has(id)) return this.#finished
    const known = this.#sources.get(backend)
    // After an upgrade the server may speak the other dialect.
    const isLegacy = backend.era === 'legacy'
    if (known !== undefined && known instanceof SessionTaskSource === isLegacy) return known
    const source = isLegacy ? new SessionTaskSource(backend) : new ModernTaskSource(backend.name, requestsTo(backend))
    this.#sources.set(backend, source)
    return source
  }

  #write(result: Json, { peer }: Call): string {
    return this.#host?.write(result, peer) ?? JSON.stringify(result)
  }
}

function listsOwnTasks(backend: Backend): boolean {
  return listsTasks(backend) && !backend.isShared
}

function declared(call: Call): Call {
  if (declaresTasks(call.peer.capabilities)) return call
  throw new ProtocolError('CAPABILITY_MISSING', 'The client must declare the tasks extension to use this method.', {
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  })
}
