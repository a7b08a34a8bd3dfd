/**
 * The open questions that the viewer may answer, and what became of those that this process has shown. Who has logged in answers as
 * that person; the holder of the token of this machine answers for callers without a name.
 */
import { isObject, type Json } from '../../../protocol/index.ts'
import { readFields } from '../../../questions/index.ts'
import type { OpenQuestion, QuestionAnswerer, QuestionDesk } from '../../../server/index.ts'
import { namesOf } from '../../../server/internal.ts'
import type { ConsoleAction, ConsoleTopic } from './desk.ts'
import { RefusedError } from './refused.ts'
import type { ConsoleViewer } from './types.ts'

/** Undefined without the setting `store`. */
type DeskOf = () => QuestionDesk | undefined

const MAX_SHOWN = 100
/** How many closed questions of a viewer are remembered. */
const MAX_CLOSED = 50
const MAX_VIEWERS = 100

/** Items: `inbox`, `open/ID` and `closed/ID`. */
export function inboxTopic(deskOf: DeskOf): ConsoleTopic {
  const remembered = new Map<string, ShownQuestions>()
  return {
    read: async (_, viewer) => {
      const desk = deskOf()
      if (desk === undefined) return { inbox: { hasStore: false } }
      const answerer = answererOf(desk, viewer)
      const names = viewer.principal === undefined ? [] : namesOf(viewer.principal)
      const { questions, nextCursor } = await desk.list({ answerer, names, limit: MAX_SHOWN })
      const by = viewer.principal?.id ?? ''
      const shown = remembered.get(by) ?? new ShownQuestions()
      remembered.delete(by)
      remembered.set(by, shown)
      for (const oldest of remembered.keys()) if (remembered.size > MAX_VIEWERS) remembered.delete(oldest)
      const items: Record<string, Json> = { inbox: { hasStore: true, hasMore: nextCursor !== undefined } }
      for (const question of questions) items[`open/${question.id}`] = questionItem(question)
      for (const [id, item] of await shown.closed(desk, answerer, questions)) items[`closed/${id}`] = item
      return items
    },
  }
}

/** The questions that a viewer has seen, and what became of them. */
class ShownQuestions {
  #open = new Set<string>()
  readonly #closed = new Map<string, Json>()

  async closed(
    desk: QuestionDesk,
    answerer: QuestionAnswerer,
    questions: readonly OpenQuestion[],
  ): Promise<ReadonlyMap<string, Json>> {
    const open = new Set(questions.map(({ id }) => id))
    for (const id of this.#open) {
      const known = open.has(id) ? undefined : await desk.known(id, answerer)
      if (known === undefined || known.outcome.state === 'open') continue
      const { tool, message, sentence, outcome } = known
      this.#closed.set(id, { id, tool, message, sentence, state: outcome.state, at: outcome.at ?? null })
    }
    for (const oldest of this.#closed.keys()) if (this.#closed.size > MAX_CLOSED) this.#closed.delete(oldest)
    this.#open = open
    return this.#closed
  }
}

function questionItem(question: OpenQuestion): Json {
  const { id, tool, caller, message, by, fourEyes, askedAt, expiresAt, requestedSchema } = question
  return {
    id,
    tool,
    caller: caller ?? null,
    message,
    by: by ?? null,
    fourEyes,
    askedAt,
    expiresAt,
    ...fieldsOf(requestedSchema),
  }
}

/** The form by the same reading as the page of a question. */
function fieldsOf(schema: Json): Json {
  try {
    return { fields: readFields(schema) }
  } catch (error) {
    return { fields: [], fault: error instanceof Error ? error.message : '' }
  }
}

/** Answers one question: `{ id, action, content }`. The second answerer gets what became of it. */
export function answerAction(deskOf: DeskOf): ConsoleAction {
  return {
    role: 'approver',
    subject: ({ id }) => String(id),
    run: async ({ id, action, content }, viewer) => {
      const desk = deskOf()
      if (desk === undefined) throw new RefusedError(404, 'This gateway stores no questions.')
      const answerer = answererOf(desk, viewer)
      const question = await desk.find(String(id), answerer)
      if (question === undefined) throw await closedError(desk, String(id), answerer)
      if (action !== 'accept' && action !== 'decline') throw new RefusedError(400, 'An answer accepts or declines.')
      const given = isObject(content) ? content : {}
      const problems = action === 'accept' ? desk.problems(question, given) : []
      if (problems.length > 0) throw new RefusedError(422, problems.join(' '))
      const response = action === 'accept' ? { action, content: given } : { action }
      if (!(await desk.answer(question, answerer, response, 'console')))
        throw await closedError(desk, String(id), answerer)
      return {}
    },
  }
}

async function closedError(desk: QuestionDesk, id: string, answerer: QuestionAnswerer): Promise<RefusedError> {
  const known = await desk.known(id, answerer)
  const isClosed = known !== undefined && known.outcome.state !== 'open'
  return new RefusedError(
    409,
    isClosed ? `This question is closed. ${known.sentence}` : 'This question is not open for you.',
  )
}

function answererOf(desk: QuestionDesk, { principal }: ConsoleViewer): QuestionAnswerer {
  return principal === undefined ? { owner: desk.ownerOf({ principal: undefined }) } : { principal }
}
