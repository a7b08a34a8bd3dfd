/**
 * Two stores on the way from one to the other: new tasks are made in the new one, those of the old one live there to
 * their end, and clients see no difference. When the old store is empty, the new engine takes the place of this one.
 */
import type { Answers, EngineHost, NewTask, Page, TaskEngine, TaskRecord, Working, WorkOptions } from './engine.ts'

export interface Move {
  readonly from: TaskEngine
  readonly to: TaskEngine
}

export function movingEngine({ from, to }: Move): TaskEngine {
  return {
    open: (host) => open(host),
    create: (task: NewTask) => to.create(task),
    read: (id, owner) => inEither((engine) => engine.read(id, owner)),
    list: (owner, after, limit) => list(owner, after, limit),
    answer: (id, owner, answers: Answers) => inEither((engine) => engine.answer(id, owner, answers)),
    cancel: (id, owner) => inEither((engine) => engine.cancel(id, owner)),
    work: (options) => workOn(options),
    watch: (id, listener) => {
      const stops = [to.watch(id, listener), from.watch(id, listener)]
      return () => {
        for (const stop of stops) stop()
      }
    },
    close: () => both(to.close(), from.close()),
  }

  /** Both or none: who could not open tries again, and must not open one of them twice. */
  async function open(host: EngineHost): Promise<void> {
    const engines = [to, from]
    const opened = await Promise.allSettled(engines.map((engine) => engine.open(host)))
    const failed = opened.find((outcome) => outcome.status === 'rejected')
    if (failed === undefined) return
    await Promise.all(engines.filter((_, at) => opened[at]?.status === 'fulfilled').map((engine) => engine.close()))
    throw failed.reason
  }

  async function inEither(
    look: (engine: TaskEngine) => Promise<TaskRecord | undefined>,
  ): Promise<TaskRecord | undefined> {
    return (await look(to)) ?? look(from)
  }

  /** The new store's tasks, then the old one's; a mark says where a page goes on. */
  async function list(owner: string, after: string | undefined, limit: number): Promise<Page> {
    if (after?.startsWith(OLD))
      return withOldPrefix(await from.list(owner, after.slice(OLD.length) || undefined, limit))
    const page = await to.list(owner, after, limit)
    return page.next === undefined ? { ...page, next: OLD } : page
  }

  function workOn(options: WorkOptions): Working {
    const working = [to.work(options), from.work(options)]
    return {
      serve: (tool) => {
        for (const each of working) each.serve(tool)
      },
      stop: async () => void (await Promise.all(working.map((each) => each.stop()))),
    }
  }
}

const OLD = 'old/'

function withOldPrefix({ tasks, next }: Page): Page {
  return { tasks, next: next === undefined ? undefined : `${OLD}${next}` }
}

async function both(...work: readonly Promise<void>[]): Promise<void> {
  await Promise.all(work)
}
