import { expect, test } from 'vitest'
import { readEra } from './era.ts'
import type { ProbeReply } from '../wire/reply.ts'

const discovered = (supportedVersions: unknown): ProbeReply => ({ kind: 'result', result: { supportedVersions } })
const refused = (status: number): ProbeReply => ({
  kind: 'refused',
  status,
  text: '',
  http: { status, session: undefined, challenge: false },
})

test.each<[string, ProbeReply, string, string[]]>([
  ['a modern list', discovered(['2026-07-28']), 'modern', ['2026-07-28']],
  ['a list of both', discovered(['2026-07-28', '2025-11-25']), 'modern', ['2026-07-28', '2025-11-25']],
  ['a later revision', discovered(['2030-01-01']), 'modern', ['2030-01-01']],
  ['older revisions only', discovered(['2025-11-25']), 'legacy', ['2025-11-25']],
  ['a result of something else', { kind: 'result', result: { tools: [] } }, 'legacy', []],
  ['no list', discovered('2026-07-28'), 'legacy', []],
  ['names that are none', discovered(['zzzz', 7, '9999-99-99\n']), 'legacy', []],
  ['HTTP 400', refused(400), 'legacy', []],
  ['silence', { kind: 'timed-out', waitedMs: 1 }, 'legacy', []],
])('%s', (_, reply, era, versions) => {
  expect(readEra(reply)).toMatchObject({ era, versions })
})

test('a host that cannot be reached is unreachable; one that disconnected after the request is not', () => {
  expect(readEra({ kind: 'disconnected', why: 'x', wasConnected: false }).isUnreachable).toBe(true)
  expect(readEra({ kind: 'redirected', to: 'https://x', isElsewhere: true }).isUnreachable).toBe(true)
  expect(readEra({ kind: 'disconnected', why: 'x', wasConnected: true }).isUnreachable).toBe(false)
  expect(readEra(refused(500)).isUnreachable).toBe(false)
})
