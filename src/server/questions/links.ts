/**
 * Links to the page of a question. The address holds a seal of the question. For a question of the caller it also names
 * the caller: who has that link may answer. Any other link shows only the question, and a login identifies its visitor.
 * A link counts once, because a question is open once; afterwards the link shows the outcome.
 */
import type { RoundSealer } from '../../state/seal/index.ts'
import { StateError } from '../../state/internal.ts'
import { isObject } from '../../protocol/index.ts'
import { newId } from '../binding.ts'
import type { LinkedQuestion, OpenQuestion } from '../taskPort.ts'

/** How long a link shows the outcome of its question after the time to answer, in seconds. */
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
    const pages = this.#pages
    if (pages === undefined) return undefined
    const content = { body: { question, owner }, id: newId(), ttlSeconds: this.#waitSeconds + TOLD_SECONDS }
    return `${pages}${await this.#sealer.seal('link', {}, content)}`
  }

  /** The link to a question for this caller, or for those in `by`, who need a login. */
  async of({ id, by }: Pick<OpenQuestion, 'id' | 'by'>, owner: string, hasLogin: boolean): Promise<string | undefined> {
    if (by === undefined) return this.to({ question: id, owner })
    return hasLogin ? this.to({ question: id }) : undefined
  }

  /** Undefined for an address that is no link of this server, or an expired one. */
  async open(path: string): Promise<LinkedQuestion | undefined> {
    try {
      const { body } = await this.#sealer.open('link', {}, sealIn(path))
      if (!isObject(body)) return undefined
      const { question, owner } = body
      return { question: String(question), ...(typeof owner === 'string' && { owner }) }
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }

  /** The address of a page, by its path as this process sees it: a proxy may have cut it. */
  addressOf(path: string): string {
    const pages = this.#pages
    return pages === undefined ? path : `${pages}${sealIn(path)}`
  }

  /** The redirect address for the provider of logins, if known. */
  get returnUrl(): string | undefined {
    const pages = this.#pages
    return pages && `${pages}${LOGIN}`
  }

  get #pages(): string | undefined {
    const url = this.#url()
    return url && `${url.replace(/\/$/, '')}${SEGMENT}`
  }

  /** The origin of the pages, if known. */
  get origin(): string | undefined {
    const url = this.#url()
    return url && new URL(url).origin
  }
}

function sealIn(path: string): string {
  return path.slice(path.lastIndexOf(SEGMENT) + SEGMENT.length)
}

const LOGIN = 'login'

/** Whether a login ends at this path. */
export function isLoginPath(path: string): boolean {
  return path.endsWith(`${SEGMENT}${LOGIN}`)
}

/** Whether a path has the form of a question's page, with a valid seal or not. */
export function isQuestionPath(path: string): boolean {
  const at = path.lastIndexOf(SEGMENT)
  return at >= 0 && TOKEN.test(path.slice(at + SEGMENT.length))
}

/** The shortest seal is longer. An endpoint at /question/mcp is not a page. */
const TOKEN = /^[\w-]{40,}$/
