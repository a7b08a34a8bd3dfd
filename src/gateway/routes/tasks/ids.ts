/**
 * Ids of tasks at the gateway. They name the server and its own id, so nothing has to be remembered; and they count only
 * for the caller whose task it is, because servers see all callers as one.
 */
import type { Principal } from '../../../server/index.ts'
import { MARK_CHARS, type Marks } from '../../../state/seal/index.ts'

export interface OwnTaskId {
  readonly server: string
  readonly id: string
}

export class TaskIds {
  readonly #marks: Marks

  constructor(marks: Marks) {
    this.#marks = marks
  }

  exposed({ server, id }: OwnTaskId, principal: Principal | undefined): string {
    return `${encodeURIComponent(server)}:${id}:${this.#marks.of(marked({ server, id }, principal))}`
  }

  /** Undefined where it is no id of the gateway, or of a task of another caller. */
  resolve(exposed: string, principal: Principal | undefined): OwnTaskId | undefined {
    const match = PARTS.exec(exposed)
    const server = match?.[1] === undefined ? undefined : decoded(match[1])
    const [id, mark] = [match?.[2], match?.[3]]
    if (server === undefined || id === undefined || mark === undefined) return undefined
    const own = { server, id }
    return this.#marks.isOf(marked(own, principal), mark) ? own : undefined
  }
}

const PARTS = new RegExp(`^([^:]+):(.+):([\\w-]{${MARK_CHARS}})$`, 's')

function marked({ server, id }: OwnTaskId, principal: Principal | undefined): string {
  return JSON.stringify([server, id, principal?.id ?? null])
}

function decoded(server: string): string | undefined {
  try {
    return decodeURIComponent(server)
  } catch {
    return undefined
  }
}
