/** The task service between a server and an engine: it turns calls into tasks and serves `tasks/…` in both dialects. */
import { randomUUID } from 'node:crypto'
import type { Journal } from '../../journal/index.ts'
import {
  assertOptionNames,
  DAY_MS,
  type Era,
  isObject,
  type Json,
  type OptionNames,
  ProtocolError,
  ROUNDS_CAPABILITY,
  TASKS_EXTENSION,
} from '../../protocol/index.ts'
import type {
  Call,
  NewWork,
  QuestionDesk,
  TaskCaller,
  TaskHost,
  TaskListening,
  Tasks,
  TaskService,
} from '../../server/index.ts'
import { taskWing } from '../../server/internal.ts'
import { StateError } from '../../state/internal.ts'
import { groupOf } from '../../state/quota/index.ts'
import { assertBetween, MAX_OPTION, type NewTask, type TaskEngine, type TaskRecord, type Working } from '../engine.ts'
import { type DialectOptions, digestOf, ownerOf, withClientErrors } from './dialect.ts'
import { assertDeclared, modernCreated, modernTaskMethods, type TaskMethod } from './modernDialect.ts'
import { NoticeSender } from './noticeSender.ts'
import { listenToTasks } from './notifications.ts'
import { EngineQuestionDesk, type StoredWork } from './questionDesk.ts'
import { TaskRunner } from './runner.ts'
import { viewOf } from './view.ts'
import { sessionCreated, sessionTaskMethods } from './sessionDialect.ts'

export interface TaskServiceOptions {
  /** The TTL of a task from its creation, in milliseconds. With null, an unfinished task never expires. @default null */
  ttlMs?: number | null
  /** The longest TTL that a client may ask for, in milliseconds. @default 2592000000, thirty days */
  maxTtlMs?: number
  /** How often clients should poll, in milliseconds. @default 1000 */
  pollMs?: number
  /** Concurrent runs in this process; with 0 other processes run the tasks. @default 16 */
  concurrency?: number
  /**
   * Lists the tools `task_status`, `task_answer` and `task_cancel`, so that tools with `task: 'required'` work with every client. It
   * includes the server's option `questions`. @default false
   */
  asTools?: boolean
}

export const SERVICE_OPTIONS: OptionNames<TaskServiceOptions> = {
  ttlMs: true,
  maxTtlMs: true,
  pollMs: true,
  concurrency: true,
  asTools: true,
}

/** Tasks for `createServer({ tasks })`, stored and scheduled by any engine. */
export function createTasks(engine: TaskEngine, options: TaskServiceOptions = {}): Tasks {
  assertOptionNames(options, SERVICE_OPTIONS, 'createTasks')
  const settings = serviceSettings(options)
  const asTools = options.asTools === true
  return { asTools, attach: (host) => new EngineTaskService(engine, settings, host), wing: taskWing }
}

/**
 * Whether the client disconnected before it got the id of its task, so that no request can name it. A later round can
 * be sent again, and then gets the same task.
 */
function isAbandoned({ channel }: Call, { round }: Journal): boolean {
  return channel.cancelled && round === 0
}

class EngineTaskService implements TaskService {
  readonly questions: QuestionDesk
  readonly #engine: TaskEngine
  readonly #host: TaskHost
  readonly #settings: TaskServiceSettings
  readonly #runner: TaskRunner
  readonly #modern: ReadonlyMap<string, TaskMethod>
  readonly #session: ReadonlyMap<string, TaskMethod>
  readonly #tools = new Set<string>()
  #opening: Promise<TaskEngine> | undefined
  #working: Working | undefined
  #sender: NoticeSender | undefined
  #isOpen = false
  /** The error of the last attempt to open the engine. */
  #unopened: unknown
  #isDraining = false

  constructor(engine: TaskEngine, settings: TaskServiceSettings, host: TaskHost) {
    this.#engine = engine
    this.#host = host
    this.#settings = settings
    this.#runner = new TaskRunner(host)
    const dialect: DialectOptions = { host, engine: () => this.#openEngine(), pollMs: settings.pollMs }
    this.questions = new EngineQuestionDesk({
      host,
      engine: () => this.#openEngine(),
      store: (...work) => this.#store(...work),
    })
    this.#modern = modernTaskMethods(dialect)
    this.#session = sessionTaskMethods(dialect)
  }

  capabilities(era: Era): Json {
    if (era === 'modern') return { extensions: { [TASKS_EXTENSION]: {} } }
    const list = this.#host.knowsCallers && { list: {} }
    const experimental = { [ROUNDS_CAPABILITY]: {} } // such clients also get a task's questions as results
    return { experimental, tasks: { ...list, cancel: {}, requests: { tools: { call: {} } } } }
  }

  trouble(): string | undefined {
    const error = this.#isOpen ? this.#engine.trouble() : this.#unopened
    return error instanceof StateError ? error.message : undefined
  }

  async create(call: Call, work: NewWork): Promise<string> {
    const { pollMs } = this.#settings
    const task = await this.#store(call, { ...work, ttlMs: this.#ttlFor(call) })
    if (isAbandoned(call, work.journal)) await (await this.#openEngine()).cancel(task.id, ownerOf(call))
    if (call.peer.era === 'modern') return this.#host.write(modernCreated(task, pollMs), call.peer)
    return JSON.stringify(sessionCreated(viewOf({ task, isOwner: true }, call, this.#host), pollMs, call))
  }

  method({ method, peer, principal }: Call): TaskMethod | undefined {
    if (peer.era === 'modern') return this.#modern.get(method)
    if (method === 'tasks/list' && principal === undefined) return undefined
    if (method === 'tasks/input_response' && !peer.takesInputRequired) return undefined
    return this.#session.get(method)
  }

  async listen(call: Call, taskIds: readonly string[], send: (task: Json) => void): Promise<TaskListening> {
    assertDeclared(call)
    return listenToTasks(await this.#openEngine(), {
      owner: ownerOf(call),
      viewer: { peer: call.peer, principal: call.principal },
      host: this.#host,
      taskIds,
      send,
      pollMs: this.#settings.pollMs,
    })
  }

  async start(tools: readonly string[]): Promise<void> {
    for (const tool of tools) this.#tools.add(tool)
    await this.#openEngine()
  }

  serve(tool: string): void {
    this.#tools.add(tool)
    this.#working?.serve(tool)
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#isDraining = true
    this.#runner.drain()
    const stopped = this.#working?.stop()
    if (stopped === undefined) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), deadlineMs)
    })
    if ((await Promise.race([stopped, late])) === 'late') await this.#runner.giveBackAll()
    clearTimeout(timer)
  }

  async close(): Promise<void> {
    const isOpen = await this.#opening?.then(
      () => true,
      () => false,
    )
    this.#isOpen = false
    await this.#sender?.close()
    if (isOpen) await this.#engine.close()
  }

  async #store(call: Call, { waits, ...work }: StoredWork): Promise<TaskRecord> {
    const engine = await this.#openEngine()
    const id = `${work.tool}_${randomUUID()}`
    const holder = holderAndMember(this.#host.holderOf(call) ?? id)
    const caller = { ...callerOf(call), ...(waits && { waits }) }
    return withClientErrors(engine.create({ id, owner: ownerOf(call), ...holder, ...work, caller }))
  }

  /** The open engine, with its worker started. After a failure the next caller tries again. */
  #openEngine(): Promise<TaskEngine> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      this.#unopened = error
      throw error
    })
    return this.#opening
  }

  async #open(): Promise<TaskEngine> {
    const { audience, logger } = this.#host
    const notices = this.#host.notices()
    const channels = notices?.channels.map(({ name }) => name) ?? []
    await this.#engine.open({ audience, logger, channels })
    this.#isOpen = true
    if (notices !== undefined && channels.length > 0) this.#sender ??= new NoticeSender(this.#engine, notices, logger)
    const { concurrency } = this.#settings
    if (concurrency > 0 && !this.#isDraining) {
      this.#working ??= this.#engine.work({ tools: [...this.#tools], concurrency, run: this.#runner.run })
    }
    return this.#engine
  }

  /** Session-era clients may ask for a TTL; in the stateless revision the server decides. */
  #ttlFor({ peer, params }: Call): number | null {
    const { ttlMs, maxTtlMs } = this.#settings
    const { task } = params
    const asked = peer.era === 'legacy' && isObject(task) ? task['ttl'] : undefined
    if (asked === undefined || asked === null) return ttlMs
    if (typeof asked !== 'number' || !Number.isInteger(asked) || asked <= 0) {
      throw new ProtocolError('PARAMS_INVALID', '"params.task.ttl" must be a whole number of milliseconds, at least 1.')
    }
    return Math.min(asked, maxTtlMs)
  }
}

/** The quota of a caller. Sessions cost nothing, so those of one network also count together. */
function holderAndMember(name: string): Pick<NewTask, 'holder' | 'member'> {
  const group = groupOf(name)
  return { holder: digestOf(group), member: group === name ? undefined : digestOf(name) }
}

type TaskServiceSettings = Readonly<Required<Omit<TaskServiceOptions, 'asTools'>>>

const THIRTY_DAYS_MS = 30 * DAY_MS

function serviceSettings(options: TaskServiceOptions): TaskServiceSettings {
  const { ttlMs = null, maxTtlMs = THIRTY_DAYS_MS, pollMs = 1000, concurrency = 16 } = options
  if (ttlMs !== null) assertBetween('ttlMs, if not null,', ttlMs, 1, MAX_OPTION)
  assertBetween('maxTtlMs', maxTtlMs, 1, MAX_OPTION)
  assertBetween('pollMs', pollMs, 1, MAX_OPTION)
  assertBetween('concurrency', concurrency, 0, MAX_OPTION)
  return { ttlMs, maxTtlMs, pollMs, concurrency }
}

/** The facts about its caller that a run needs: capabilities, principal and `_meta`. */
function callerOf({ peer, principal, meta }: Call): TaskCaller {
  const { era, version, client, capabilities } = peer
  return { peer: { era, version, client, capabilities }, principal, meta }
}
