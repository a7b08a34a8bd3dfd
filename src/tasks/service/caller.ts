/** Who a task is of, and what it must know of them. */
import { hash } from 'node:crypto'
import type { Call, TaskCaller } from '../../server/index.ts'

/** What a run must know of its caller: what it declared, who it is, what it sent along. */
export function callerOf({ peer, principal, meta }: Call): TaskCaller {
  const { era, version, client, capabilities } = peer
  return { peer: { era, version, client, capabilities }, principal, meta }
}

/** Names the owner without telling who it is; empty where nobody is told from anybody, and the id is all one needs. */
export function ownerOf({ principal }: Pick<Call, 'principal'>): string {
  return principal === undefined ? '' : hash('sha256', principal.id, 'base64url')
}
