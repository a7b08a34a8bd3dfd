/**
 * Links to the page of a question. The address holds a seal of the question and of the caller whose question it is: who has the link
 * may answer. It counts once, because a question is open once, and then says what became of it.
 */
import type { RoundSealer } from '../../state/seal/index.ts'
import { StateError } from '../../state/internal.ts'
import { isObject } from '../../protocol/index.ts'
import { newId } from '../binding.ts'
import type { LinkedQuestion } from '../taskPort.ts'

/** How long a link says what became of its question after the time to answer, in seconds. */
const TOLD_SECONDS = 604_800

/** Between the path of the endpoint and the seal. */
const SEGMENT = '/question/'

export class QuestionLinks {
  readonly #sealer: RoundSealer
  readonly #url: () => string | undefined
  readonly #waitSeconds: number

  /** `url`: the address of the endpoint as people reach it, if it is known. */
  constructor(sealer: RoundSealer, url: () => string | undefined, waitSeconds: number) {
    this.#sealer = sealer
    this.#url = url
    this.#waitSeconds = waitSeconds
  }

  /** Undefined if people cannot reach this server by an address that it knows. */
  async to({ question, owner }: LinkedQuestion): Promise<string | undefined> {
    const url = this.#url()
    if (url === undefined) return undefined
    const content = { body: { question, owner }, id: newId(), ttlSeconds: this.#waitSeconds + TOLD_SECONDS }
    return `${url.replace(/\/$/, '')}${SEGMENT}${await this.#sealer.seal('link', {}, content)}`
  }

  /** Undefined for an address that is no link of this server, or an expired one. */
  async open(path: string): Promise<LinkedQuestion | undefined> {
    try {
      const token = path.slice(path.lastIndexOf(SEGMENT) + SEGMENT.length)
      const { body } = await this.#sealer.open('link', {}, token)
      return isObject(body) ? { question: String(body['question']), owner: String(body['owner']) } : undefined
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }

  /** The origin of the pages, where it is known. */
  get origin(): string | undefined {
    const url = this.#url()
    return url && new URL(url).origin
  }
}

/** Whether a path is that of a question's page, with a good seal or not. */
export function isQuestionPath(path: string): boolean {
  const at = path.lastIndexOf(SEGMENT)
  return at >= 0 && TOKEN.test(path.slice(at + SEGMENT.length))
}

/** The shortest seal is longer. An endpoint at /question/mcp is none. */
const TOKEN = /^[\w-]{40,}$/
