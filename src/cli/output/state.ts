/** What a sealed state holds, for people and for programs. */
import { plainLine } from '../../client/index.ts'
import { readJournal } from '../../journal/index.ts'
import { isObject } from '../../protocol/index.ts'
import type { Inspected } from '../../state/seal/index.ts'
import { age, alignColumns } from './layout.ts'
import { printableJson } from './json.ts'

const KINDS: Readonly<Record<Inspected['purpose'], string>> = {
  request: 'the state of a call that takes several rounds (requestState)',
  push: 'the state of a question in the session era',
  session: 'a session id',
  stream: 'the id of a stream in the session era',
  ticket: 'a ticket: the state of a call lies in the store of the server',
  question: 'the id of a question in the session era',
  instance: 'a message between two instances',
}

export function stateText(opened: Inspected, now: number): string {
  const { purpose, keyId, audience, binding, round, id, issuedAt, expiresAt } = opened
  const facts = [
    ['  key', keyId],
    ['  server', audience],
    ['  principal', binding.principal],
    ['  session', binding.session],
    ['  method', binding.method],
    ['  name', binding.name],
    ['  arguments', binding.argumentsDigest === undefined ? undefined : `${binding.argumentsDigest} (a digest)`],
    ['  round', String(round)],
    ['  id', id],
    ['  sealed', `${timeText(issuedAt)} (${age(now - issuedAt * 1000)} ago)`],
    ['  expires', `${timeText(expiresAt)} (${expiryText(expiresAt * 1000 - now)})`],
  ]
  const known = facts.flatMap(([name = '', value]) => (value === undefined ? [] : [[name, plainLine(value, Infinity)]]))
  return `This is ${KINDS[purpose]}.\n${alignColumns(known)}\nIt holds:\n${printableJson(contentOf(opened))}`
}

/** For programs. */
export function stateData(opened: Inspected, now: number): object {
  const { issuedAt, expiresAt, body: _, ...claims } = opened
  const times = { issuedAt: timeText(issuedAt), expiresAt: timeText(expiresAt), expired: expiresAt * 1000 <= now }
  return { ...claims, ...times, content: contentOf(opened) }
}

/** The body with names in place of the letters and positions that save bytes. */
function contentOf({ purpose, body, id, round }: Inspected): unknown {
  switch (purpose) {
    case 'request':
      return journalOf(body, id, round)
    case 'push':
      return isObject(body) ? { ...body, journal: journalOf(body['journal'], id, round) } : body
    case 'session':
      return named(body, ['protocolVersion', 'client', 'capabilities', 'instance'])
    case 'stream':
      return named(body, ['request', 'instance'])
    case 'question':
      return { instance: body }
    case 'ticket':
    case 'instance':
      return body
    default:
      return purpose satisfies never
  }
}

/** What a call has asked, been answered and done. The SDK's adapter has a journal inside, or a state of the handler. */
function journalOf(body: unknown, id: string, round: number): unknown {
  if (!isObject(body) || 'p' in body) return body
  if ('j' in body) return { tool: body['t'], argumentsDigest: body['a'], journal: journalOf(body['j'], id, round) }
  const { answers, steps, open, own, begunAt } = readJournal(id, round, body)
  return {
    answers: byKey(answers, ({ response }) => response),
    steps: byKey(steps, ({ value }) => value),
    openQuestions: byKey(open, ({ times }) => ({ asked: times })),
    ...(own !== undefined && { requestState: own }),
    ...(begunAt !== undefined && { begunAt: timeText(begunAt) }),
  }
}

function byKey<Value>(map: ReadonlyMap<string, Value>, shown: (value: Value) => unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from(map, ([key, value]) => [key, shown(value) ?? null]))
}

function named(body: unknown, names: readonly string[]): unknown {
  return Array.isArray(body) ? Object.fromEntries(names.map((name, at) => [name, body[at] as unknown])) : body
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

function expiryText(leftMs: number): string {
  return leftMs > 0 ? `in ${age(leftMs)}` : `expired ${age(-leftMs)} ago`
}
