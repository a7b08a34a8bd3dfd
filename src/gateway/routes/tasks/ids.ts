/**
 * Ids of tasks at the gateway. They name the server and its own id, and the process of the gateway where the task lives in
 * one, so nothing has to be remembered. They count only for the caller whose task it is, because servers see all callers
 * as one.
 */
import { parseJson } from '../../../protocol/index.ts'
import type { Principal } from '../../../server/index.ts'
import { type Instance, readInstance, writeInstance } from '../../../cluster/index.ts'
import { MARK_CHARS, type Marks } from '../../../state/seal/index.ts'

export interface OwnTaskId {
  readonly server: string
  readonly id: string
  /** The process that has the task's session or child process. */
  readonly owner?: Instance | undefined
}

export class TaskIds {
  readonly #marks: Marks

  constructor(marks: Marks) {
    this.#marks = marks
  }

  exposed(own: OwnTaskId, principal: Principal | undefined): string {
    const mark = this.#marks.of(marked(own, principal))
    // Addresses of replicas are hidden from clients.
    const place = own.owner === undefined ? '' : `@${this.#marks.hidden(ownerText(own.owner), mark)}`
    return `${encodeURIComponent(own.server)}${place}:${own.id}:${mark}`
  }

  /** Returns undefined for an id that is none of the gateway, or belongs to a task of another caller. */
  resolve(exposed: string, principal: Principal | undefined): OwnTaskId | undefined {
    const { server: written, place, id, mark } = PARTS.exec(exposed)?.groups ?? {}
    const server = written === undefined ? undefined : decoded(written)
    if (server === undefined || id === undefined || mark === undefined) return undefined
    const owners = place === undefined ? [] : this.#marks.revealed(place, mark).flatMap((text) => readOwner(text) ?? [])
    const possible: OwnTaskId[] =
      place === undefined ? [{ server, id }] : owners.map((owner) => ({ server, id, owner }))
    return possible.find((own) => this.#marks.isOf(marked(own, principal), mark))
  }
}

const PARTS = new RegExp(`^(?<server>[^:@]+)(?:@(?<place>[\\w-]+))?:(?<id>.+):(?<mark>[\\w-]{${MARK_CHARS}})$`, 's')

function marked({ server, id, owner }: OwnTaskId, principal: Principal | undefined): string {
  return JSON.stringify([server, id, principal?.id ?? null, owner === undefined ? null : writeInstance(owner)])
}

function ownerText(owner: Instance): string {
  return JSON.stringify(writeInstance(owner))
}

function readOwner(text: string): Instance | undefined {
  return readInstance(parseJson(text))
}

function decoded(server: string): string | undefined {
  try {
    return decodeURIComponent(server)
  } catch {
    return undefined
  }
}
