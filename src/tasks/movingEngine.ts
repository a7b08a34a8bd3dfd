/**
 * Migration from one store to another while tasks run: new tasks are created in the new store, tasks of the old store
 * stay there until they end, and clients see no difference. Once the old store is empty, use the new engine alone.
 */
import type {
  EngineHost,
  NewTask,
  NoticeRef,
  OpenQuestionQuery,
  OpenQuestionRecord,
  Page,
  TaskAnswers,
  TaskEngine,
  Working,
  WorkOptions,
} from './engine.ts'

/** The engine that tasks leave, and the one that gets new ones. */
export interface Move {
  readonly from: TaskEngine
  readonly to: TaskEngine
}

/** An engine that creates tasks in the store `to`, and serves the tasks of `from` until they end. */
export function movingEngine({ from, to }: Move): TaskEngine {
  return {
    open: (host) => open(host),
    trouble: () => to.trouble() ?? from.trouble(),
    create: (task: NewTask) => to.create(task),
    read: (id, owner) => inEither((engine) => engine.read(id, owner)),
    awaiting: (id) => inEither((engine) => engine.awaiting(id)),
    existing: async (ids, owner) => {
      const found = new Set((await Promise.all([to, from].map((engine) => engine.existing(ids, owner)))).flat())
      return ids.filter((id) => found.has(id))
    },
    list: (owner, after, limit) => list(owner, after, limit),
    answer: (id, owner, answers: TaskAnswers) => inEither((engine) => engine.answer(id, owner, answers)),
    answerOne: async (...answer) => (await to.answerOne(...answer)) || from.answerOne(...answer),
    openQuestions: (query) => openQuestions(query),
    question: (...which) => inEither((engine) => engine.question(...which)),
    notices: {
      claim: async (retryMs) => {
        const due = await Promise.all([to, from].map((engine) => engine.notices.claim(retryMs)))
        return due.flatMap((notices, at) =>
          notices.map((notice) => ({ ...notice, question: placedIn(notice.question, at) })),
        )
      },
      remove: (notice) => storeOf(notice).notices.remove(placeOf(notice)),
      postpone: (notice, waitMs) => storeOf(notice).notices.postpone(placeOf(notice), waitMs),
    },
    sameCall: (owner, same) => inEither((engine) => engine.sameCall(owner, same)),
    forgetCall: (id, owner) => both(to.forgetCall(id, owner), from.forgetCall(id, owner)),
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

  /** Opens both engines or neither, so that a retry does not open one of them twice. */
  async function open(host: EngineHost): Promise<void> {
    const engines = [to, from]
    const opened = await Promise.allSettled(engines.map((engine) => engine.open(host)))
    const failed = opened.find((outcome) => outcome.status === 'rejected')
    if (failed === undefined) return
    await Promise.all(engines.filter((_, at) => opened[at]?.status === 'fulfilled').map((engine) => engine.close()))
    throw failed.reason
  }

  async function inEither<T>(find: (engine: TaskEngine) => Promise<T | undefined>): Promise<T | undefined> {
    return (await find(to)) ?? find(from)
  }

  /** The tasks of the new store, then those of the old one; a prefix marks cursors into the old store. */
  async function list(owner: string, after: string | undefined, limit: number): Promise<Page> {
    if (after?.startsWith(OLD_CURSOR))
      return withOldPrefix(await from.list(owner, after.slice(OLD_CURSOR.length) || undefined, limit))
    const page = await to.list(owner, after, limit)
    return page.next === undefined ? { ...page, next: OLD_CURSOR } : page
  }

  function storeOf({ place }: NoticeRef): TaskEngine {
    return place % 2 === 1 ? to : from
  }

  /** Cursors are even for the old store and odd for the new one, so that one number is a cursor into both. */
  async function openQuestions(query: OpenQuestionQuery): Promise<readonly OpenQuestionRecord[]> {
    const [moved, old] = await Promise.all(
      [to, from].map(async (engine, at) => {
        const after = Math.floor((query.after - 1 + at) / 2)
        const found = await engine.openQuestions({ ...query, after })
        return found.map((question) => placedIn(question, at))
      }),
    )
    return [...(moved ?? []), ...(old ?? [])].toSorted((a, b) => a.place - b.place).slice(0, query.limit)
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

/** `at`: 0 for the new store, 1 for the old one. */
function placedIn(question: OpenQuestionRecord, at: number): OpenQuestionRecord {
  return { ...question, place: 2 * question.place + 1 - at }
}

function placeOf(notice: NoticeRef): NoticeRef {
  return { ...notice, place: Math.floor(notice.place / 2) }
}

const OLD_CURSOR = 'old/'

function withOldPrefix({ tasks, next }: Page): Page {
  return { tasks, next: next === undefined ? undefined : `${OLD_CURSOR}${next}` }
}

async function both(...work: readonly Promise<void>[]): Promise<void> {
  await Promise.all(work)
}
